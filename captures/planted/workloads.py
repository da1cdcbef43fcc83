"""What the clients do: scripts for smbclient, and workload files for `plimsoll run`."""

import random


def office_script(seed, actions, pause_s, folder="", files=12):
    """A user of small files, who pauses between actions: half of the pause to half more."""
    dice = random.Random(seed)
    script = []
    for number in range(actions):
        file = f"{folder}report-{dice.randrange(files):02}.doc"
        new = f"{folder}draft-{seed}-{number}.doc"
        script.append(dice.choices([
            f"get {file} /dev/null",
            f"allinfo {file}",
            f"put small.bin {new}",
            f"ls {folder}*",
            f"put small.bin {new}; rename {new} {new}x; del {new}x",
        ], [5, 3, 2, 1, 1])[0])
        if pause_s > 0:
            script.append(f"!sleep {dice.uniform(0.5, 1.5) * pause_s:.3f}")
    return "; ".join(script)


def office_files(lab, folder, files=12, size=2_000):
    """The files that `office_script` asks for."""
    for number in range(files):
        lab.file(f"{folder}/report-{number:02}.doc", size + 300 * number)
    lab.file("small.bin", 1_500)


def files(count, size, directories=4):
    return f'[files]\ncount = {count}\ndirectories = {directories}\ndepth = 1\nsize = "{size}"\nshared = "by-all"\nseed = 1\n'


def load(depth=1, keep_open=0):
    return f'[load]\nclients = 1\ndepth = {depth}\nwarmup = "0s"\nduration = "5s"\n[script]\nkeep_open = {keep_open}\n'


def iteration(name, steps, weight=1, on="file"):
    return f'[[iterations]]\nname = "{name}"\nweight = {weight}\non = "{on}"\nsteps = [{steps}]\n'


def reads(count=4, size="256KiB", block="4KiB", depth=1):
    """Reads of a block at random places of files that stay open."""
    return files(count, size, 0) + load(depth, count) + iteration("read", f'{{ read = {{ size = "{block}", at = "random" }} }}')


def office(count=24, size="2KiB"):
    """Small files are read, looked at, overwritten and made."""
    return (files(count, size) + load()
            + iteration("read", '{ read = { size = "16KiB", whole = true } }', 4)
            + iteration("look", '"getattr"', 3)
            + iteration("overwrite", '{ write = { size = "1KiB", at = "random" } }', 2)
            + iteration("list", '"list"', 1, "directory")
            + iteration("new file", '"create", { write = { size = "1KiB" } }, "close", "remove"', 1, "own"))


def look_ups(count):
    """Attributes and names, and no data."""
    return (files(count, "1KiB", 6) + load() + iteration("look", '"getattr"', 5) + iteration("list", '"list"', 1, "directory"))
