#!/usr/bin/env python3
"""Two types of one name in one namespace are merged by the linker, silently, members and all: none may be defined in headers
that one program can include apart. Run over the source tree; its own test first."""
import pathlib
import re
import sys

TYPE = re.compile(r"^(?:class|struct|enum class|enum|union)\s+(?:\[\[\w+\]\]\s*)?(\w+)\s*(?:final\s*)?(?::[^:].*)?\{?\s*$|"
                  r"^(?:class|struct|enum class|enum|union)\s+(\w+)[^;]*\{")
OPEN = re.compile(r"^namespace\s*([\w:]*)\s*\{")
CLOSE = re.compile(r"^\}\s*//\s*namespace")


def types_of(text):
    """The full names of the types that are defined at namespace level; of those in a nameless namespace none."""
    namespaces, found = [], []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if opened := OPEN.match(line):
            namespaces.append(opened[1])
        elif CLOSE.match(line):
            namespaces.pop()
        elif (defined := TYPE.match(line)) and "" not in namespaces:
            head = line if "{" in line else " ".join(lines[number:number + 3])
            if "{" in head and not re.match(r"[^{]*;", head):
                found.append("::".join([*namespaces, defined[1] or defined[2]]))
    return found


def twice(headers):
    places = {}
    for name, text in headers.items():
        for found in types_of(text):
            places.setdefault(found, []).append(name)
    return {found: where for found, where in places.items() if len(where) > 1}


def check_itself():
    a = "namespace x::y {\nstruct A {\n};\nstruct B;\nenum class C { one };\n}  // namespace x::y\n"
    b = "namespace x {\nnamespace y {\nclass A : public D {\n};\nstruct B {};\n}  // namespace y\nnamespace {\nstruct C {};\n}  // namespace\n}  // namespace x\n"
    assert types_of(a) == ["x::y::A", "x::y::C"], types_of(a)
    assert types_of(b) == ["x::y::A", "x::y::B"], types_of(b)
    assert twice({"a": a, "b": b}) == {"x::y::A": ["a", "b"]}


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    headers = {str(path.relative_to(root)): path.read_text() for folder in ("modules", "models") for path in sorted((root / folder).rglob("*.h"))}
    found = twice(headers)
    for name, where in found.items():
        print(f"{name} is defined in {' and in '.join(where)}")
    sys.exit(1 if found or len(headers) < 100 else 0)


if __name__ == "__main__":
    main()
