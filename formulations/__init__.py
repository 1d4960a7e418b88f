"""What is best: OPT, or a certified interval on it."""

if __name__ == "formulations":  # a script of version 0.1, run in a checkout
    from ratiobench.old_names import redirect

    redirect(__name__)
