"""Programs that search for policies, connected to `ratiobench.evaluate`: OpenEvolve, GEPA, ShinkaEvolve.

Each module imports its package when it is called, so that none of them has to be installed. `mutation` changes numbers
in a policy's text: it stands in for a language model in examples and tests.
"""
