"""Sequences whose 1,000 tokens attack a page: markup, quotes, control characters, marks of direction."""

import json
import random

TOKENS = [
    "<script>alert(1)</script>", "</script>", "<!--", "]]>", "\"q\" onload=\"alert(1)", "'", "`${1}`",
    "\u202etxt", "\u2066x", "\u2028", "\u2029", "\x07", "\x1b[31m", "\x00", "&amp;", "&lt;",
    "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "javascript:alert(1)", "a b", "\\u{7}", "#3",
    "__proto__", "\u05d0\u05d1\u05d2", "\u0627\u0644", "\ufeff", "\u200b",
]
TOKENS += [f"<t{number}>\u202e" for number in range(1000 - len(TOKENS))]
CLASSES = ["<b onclick=alert(1)>bad</b>", "good\u202e"]

random.seed(1)
for index in range(2000):
    word = [random.choice(TOKENS) for _ in range(1 + index % 8)]
    word[index % len(word)] = TOKENS[index % len(TOKENS)]
    print(json.dumps({"sequence": word, "label": CLASSES["<script>" in "".join(word)]}))
