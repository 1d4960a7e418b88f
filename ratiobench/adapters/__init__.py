"""Programs that search for policies, connected to `ratiobench.evaluate`: OpenEvolve, GEPA.

Each module imports its package when it is called, so that none of them has to be installed.
"""
