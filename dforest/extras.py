"""What optional parts of dforest need, as its installed metadata say."""

from importlib.metadata import requires


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
    for requirement in requires("dforest") or []:
        package, _, marker = requirement.partition(";")
        if marker.strip().replace("'", '"').endswith(f'extra == "{extra}"'):
            needed.append(f"'{package.strip()}'")
    return "pip install " + " ".join(needed)
