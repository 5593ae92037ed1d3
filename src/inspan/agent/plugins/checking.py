"""Whether what a module or an embedder gave is a plugin of this contract."""

from __future__ import annotations

from inspan.agent.faults import fault_name, is_fault
from inspan.agent.plugins.contract import API_VERSION, PLUGIN_ID, VERSION

__all__ = ["check_plugin"]

_PARTS = ("id", "version", "api_version", "parse_config", "setup")


def check_plugin(plugin: object, wanted_id: str) -> tuple[str, str, str]:
    """The plugin's version; and if it is none, the class of the error and what is wrong, in our words.

    Args:
        plugin: Anything.
        wanted_id: What its entry calls it.
    """
    try:
        plugin_id, version, api_version, *methods = (getattr(plugin, name) for name in _PARTS)
    except BaseException as error:
        if not is_fault(error):
            raise
        return "", fault_name(error), "It lacks a part of the contract."
    fault = ""
    if type(api_version) is not int:
        fault = "Its api_version is no whole number."
    elif api_version != API_VERSION:
        fault = (
            f"It was written for version {api_version} of the contract, and this is version {API_VERSION}."
        )
    elif not isinstance(plugin_id, str) or PLUGIN_ID.fullmatch(plugin_id) is None:
        fault = f"It has no id that a plugin may have ({PLUGIN_ID.pattern})."
    elif plugin_id != wanted_id:
        fault = f"Its id is '{plugin_id}', and the list calls it '{wanted_id}'."
    elif not isinstance(version, str) or VERSION.fullmatch(version) is None:
        fault = "Its version is no text of 1 to 64 letters, digits and plain signs."
    elif not all(callable(one) for one in methods):
        fault = "Its parse_config or its setup cannot be called."
    return ("", "PluginError", fault) if fault else (str(version), "", "")
