# SPDX-License-Identifier: MIT
"""The one place of the package that has its version; a test holds it to the library's."""

__version__ = "0.1.0"
