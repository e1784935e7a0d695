"""Names of packages that are imported when they are first used, so that imports are cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lazy"]


def lazy(
    namespace: dict[str, Any], **homes: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and the `__dir__` of a package (PEP 562).

    Args:
        namespace: The package's `globals()`.
        **homes: For each name the module of the package that has it. The name of that module
            stands for the module itself.

    Returns:
        The two functions.
    """
    package = namespace["__name__"]

    def attribute(name: str) -> Any:
        if name not in homes:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        module = import_module(f"{package}.{homes[name]}")
        namespace[name] = found = module if name == homes[name] else getattr(module, name)
        return found

    def public() -> list[str]:
        return sorted(namespace["__all__"])

    return attribute, public
