"""P as models for solvers; each module here that defines FORMULATIONS registers some."""
