"""OPT of family `eapm`: bounds, formulations, certificates."""
