"""What is asked: instance models, file formats and generators. Data only: no solver, no algorithm."""

if __name__ == "instances":  # a script of version 0.1, run in a checkout
    from ratiobench.old_names import redirect

    redirect(__name__)
