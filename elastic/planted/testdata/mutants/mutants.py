"""Lists the mutants of a Python file: mutants.py FILE, a JSON list on standard output.

The rules are those of mutate_test.go. Offsets are in bytes. What Python cannot compile
is left out.
"""

import ast
import json
import sys

SWAPPED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
           ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}


class Mutator(ast.NodeVisitor):
    """Collects mutants; inside is the dotted name of the function it is in."""

    def __init__(self, raw):
        self.raw = raw
        self.lines = [0]
        for line in raw.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.inside = "-"
        self.all = []

    def start(self, node):
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def words(self, node):
        return self.raw[self.start(node) : self.end(node)].decode()

    def add(self, rule, node, text, start=None, end=None):
        start, end = self.start(node) if start is None else start, self.end(node) if end is None else end
        if rule != "changed":
            rule += ": "
        words = " ".join(self.words(node).split())
        name = f"{self.inside}: {rule if rule != 'changed' else 'changed to ' + text + ': '}{words[:60] + ('~' if len(words) > 60 else '')}"
        changed = self.raw[:start] + text.encode() + self.raw[end:]
        try:
            compile(changed, "mutant", "exec")
        except SyntaxError:
            return
        self.all.append({"name": name, "line": node.lineno, "start": start, "end": end, "text": text})

    def visit_FunctionDef(self, node):
        outside, self.inside = self.inside, node.name if self.inside == "-" else self.inside + "." + node.name
        body = [s for s in node.body if not is_words(s)]
        if body and not (isinstance(body[0], ast.Return) and body[0].value is None):
            at = self.start(body[0])
            self.add("returns at once", body[0], "return None; ", at, at) if not compound(body[0]) else \
                self.add("returns at once", body[0], "return None\n" + " " * body[0].col_offset, at, at)
        for one in node.body:
            self.visit(one)
        self.inside = outside

    def visit_ClassDef(self, node):
        outside, self.inside = self.inside, node.name if self.inside == "-" else self.inside + "." + node.name
        for one in node.body:
            self.visit(one)
        self.inside = outside

    def visit_If(self, node):
        self.condition(node)
        self.generic_visit(node)

    visit_IfExp = visit_If
    visit_While = visit_If

    def condition(self, node):
        if not isinstance(node.test, ast.Constant):
            self.add("negated", node.test, f"(not ({self.words(node.test)}))")

    def visit_ExceptHandler(self, node):
        if node.type is not None:
            self.add("catches nothing", node.type, "()")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if not is_words(node):
            self.add("dropped", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node):
        if not any(isinstance(t, ast.Name) for t in node.targets):  # else the name is missing, which anything notices
            self.add("dropped", node, self.words(node.value))
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.add("dropped", node, self.words(node.value))
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node):
        for one in node.defaults + node.kw_defaults:  # not what is said of types
            if one is not None:
                self.visit(one)

    def visit_Raise(self, node):
        self.add("dropped", node, "pass")
        self.generic_visit(node)

    def visit_Compare(self, node):
        left = node.left
        for op, right in zip(node.ops, node.comparators):
            to = SWAPPED.get(type(op))
            if to:
                self.add("changed", node, f" {to} ", self.end(left), self.start(right)) if balanced(self.raw[self.end(left) : self.start(right)]) else None
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        to = " or " if isinstance(node.op, ast.And) else " and "
        for left, right in zip(node.values, node.values[1:]):
            if balanced(self.raw[self.end(left) : self.start(right)]):
                self.add("changed", node, to, self.end(left), self.start(right))
        self.generic_visit(node)

    def visit_BinOp(self, node):
        to = {ast.Add: "-", ast.Sub: "+"}.get(type(node.op))
        if to and not ('"' in self.words(node)):
            if balanced(self.raw[self.end(node.left) : self.start(node.right)]):
                self.add("changed", node, f" {to} ", self.end(node.left), self.start(node.right))
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.add("negation dropped", node, f"bool({self.words(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if node.value is True or node.value is False:
            self.add("inverted", node, str(not node.value))
        elif type(node.value) is int:
            self.add("off by one", node, str(node.value + 1))


def is_words(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def compound(node):
    return isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef))


def balanced(between):
    """Whether an operator stands there alone, without a parenthesis of one of its sides."""
    return b"(" not in between and b")" not in between


def main():
    with open(sys.argv[1], "rb") as f:
        raw = f.read()
    mutator = Mutator(raw)
    mutator.visit(ast.parse(raw))
    times = {}
    for m in mutator.all:
        n = times[m["name"]] = times.get(m["name"], 0) + 1
        if n > 1:
            m["name"] += f" #{n}"
    json.dump(mutator.all, sys.stdout)


main()
