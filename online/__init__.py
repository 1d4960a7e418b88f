"""What can be decided: algorithms that see one arrival at a time, and the referee that runs them."""

if __name__ == "online":  # a script of version 0.1, run in a checkout
    from ratiobench.old_names import redirect

    redirect(__name__)
else:
    import importlib
    import sys
    import warnings
    from types import ModuleType
    from typing import Any

    class _Package(ModuleType):
        """The package, which scripts of version 0.1 call as the function that is `ratiobench.simulate` now."""

        def __call__(self, *given: Any, **named: Any) -> Any:
            problem = "`ratiobench.online(...)` is called `ratiobench.simulate(...)` since version 0.2"
            warnings.warn(problem, FutureWarning, stacklevel=2)
            return importlib.import_module("ratiobench").simulate(*given, **named)

    sys.modules[__name__].__class__ = _Package
