"""What optional parts of dforest need, as its installed metadata say."""

from importlib import import_module


def needed(module, extra, what):
    """A module of another package, which is imported now.

    Parameters
    ----------
    module : str
        Its full name.
    extra : str
        The extra of dforest that has the package.
    what : str
        What needs it, for the message.

    Raises
    ------
    ImportError
        If it can't be imported; the message has the command that installs the extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} needs {package}; install it with: {install_command(extra)}") from error


def install_command(extra):
    """The command that installs an extra, for messages.

    Parameters
    ----------
    extra : str
        A key of ``[project.optional-dependencies]``.

    Returns
    -------
    str
        The command names the packages of the extra, not dforest, which may have been installed from elsewhere than an index.
    """
    needed = []
    for requirement in import_module("importlib.metadata").requires("dforest") or []:
        package, _, marker = requirement.partition(";")
        if marker.strip().replace("'", '"').endswith(f'extra == "{extra}"'):
            needed.append(f"'{package.strip()}'")
    return "pip install " + " ".join(needed)
