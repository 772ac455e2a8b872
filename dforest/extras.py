"""What optional parts of dforest need, as its installed metadata say."""

from importlib.metadata import requires


def install_command(extra):
    """The command that installs what an extra brings, for messages.

    Parameters
    ----------
    extra : str
        A key of ``[project.optional-dependencies]``.

    Returns
    -------
    str
        It names the packages themselves, as dforest need not be in an index to be installed.
    """
    needed = []
    for requirement in requires("dforest") or []:
        package, _, marker = requirement.partition(";")
        if marker.strip().replace("'", '"').endswith(f'extra == "{extra}"'):
            needed.append(f"'{package.strip()}'")
    return "pip install " + " ".join(needed)
