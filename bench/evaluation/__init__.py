"""How good a policy is on graded instances with enclosed OPT, for people and for programs that write policies."""
