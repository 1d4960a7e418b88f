"""Suites, runs, ratios, theorems and reports: what the commands and the functions of `ratiobench` do."""

if __name__ == "bench":  # a script of version 0.1, run in a checkout
    from ratiobench.old_names import redirect

    redirect(__name__)
