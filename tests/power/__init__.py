"""How much the tests notice: mutants of code that judges, and faults in words, each planted and tried with the tests.

`nox -s power` measures coverage per test, plants each fault in a copy of the tree, and runs the tests that reach it.
"""
