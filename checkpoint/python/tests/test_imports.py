"""The library's modules import one another in one direction only."""

import ast
import os
import unittest

import sluice

FOLDER = os.path.dirname(os.path.abspath(sluice.__file__))


def modules():
    """The path of each module, by its name."""
    return {("sluice." + name[:-3]).replace(".__init__", ""): os.path.join(FOLDER, name)
            for name in os.listdir(FOLDER) if name.endswith(".py")}


def imports(path, known):
    """The modules of the library that a file imports anywhere: in functions, and for type
    checkers alone, too. The library has no folders of its own: one dot is its root."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read(), path)
    out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            out.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, ["sluice" if node.level else "", node.module]))
            for alias in node.names:
                name = base + "." + alias.name
                out.add(name if name in known else base)
    return sorted(out & set(known))


def circle(graph):
    """A list of nodes, each of which leads to the next and the last to the first; empty
    when there is none."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):]
        if node in done:
            return []
        path.append(node)
        for other in graph[node]:
            found = visit(other)
            if found:
                return found
        done.add(path.pop())
        return []

    for node in sorted(graph):
        found = visit(node)
        if found:
            return found
    return []


class Imports(unittest.TestCase):
    def test_no_circle(self):
        known = modules()
        self.assertGreater(len(known), 20)
        self.assertEqual(circle({name: imports(path, known) for name, path in known.items()}), [])

    def test_circles_are_found(self):
        self.assertEqual(circle({"a": ["b", "c"], "b": ["c"], "c": []}), [])
        self.assertEqual(circle({"a": ["b"], "b": ["c"], "c": ["d"], "d": ["b"]}), ["b", "c", "d"])
        self.assertEqual(circle({"a": ["a"]}), ["a"])


if __name__ == "__main__":
    unittest.main()
