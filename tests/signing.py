# SPDX-License-Identifier: MIT
"""Keys and signatures of tests, made by minisign itself."""

import os
import subprocess


class Signer:
    """A key pair in `place`; its public key is at `public`."""

    def __init__(self, place, name="signer"):
        self.public = os.path.join(place, name + ".pub")
        self.secret = os.path.join(place, name + ".key")
        self.run("-G", "-f", "-W", "-p", self.public, "-s", self.secret)
        with open(self.public, encoding="utf-8") as file:
            self.id = file.readline().split()[-1].zfill(16)

    @staticmethod
    def run(*arguments):
        subprocess.run(
            ["minisign", *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )

    def sign(self, library, comment="kplug's tests", legacy=False):
        """Signs in the format of today, over a hash, or in that of before."""
        how = ["-l"] if legacy else ["-H"]
        self.run("-S", *how, "-s", self.secret, "-t", comment, "-m", library)
        return library + ".minisig"

    def trust(self, keys, name=None):
        """Puts the public key into a directory of keys."""
        os.makedirs(keys, mode=0o755, exist_ok=True)
        path = os.path.join(keys, (name or os.path.basename(self.public)))
        with open(self.public, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path
