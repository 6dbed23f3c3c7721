"""The version of the package."""

__version__ = "1.0.0"
USER_AGENT = f"scoreboard-python/{__version__}"
