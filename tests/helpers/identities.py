"""What tells categories apart in ties, worked out in plain Python."""

import numpy as np

GOLDEN, MASK, PRIME = 0x9E3779B97F4A7C15, 2**64 - 1, 2**61 - 1


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def combine(key, word):
    return mix(key + GOLDEN & MASK ^ mix(word + GOLDEN & MASK))


def word_of(value):
    """Return the bits of a number; the same for both zeros, and all of them if it is missing."""
    return MASK if np.isnan(value) else int((np.array(value) + 0.0).view(np.uint64))


def contents_of_target(y):
    """Return what each sample holds of the target: labels from 0 on, or numbers."""
    contents = [0] * len(y)
    for column in y.reshape(len(y), -1).T:
        words = column.tolist() if y.dtype.kind in "iu" else map(word_of, column.astype(float))
        contents = [combine(held, word) for held, word in zip(contents, words, strict=True)]
    return contents


def name_levels(column):
    """Return the category of each sample, by a name that missing values have too."""
    return ["missing" if np.isnan(value) else value for value in column.tolist()]


def identify(X, y, weights, categorical):
    """Return the number of each category of each categorical feature, by its name.

    Weights must be whole numbers.
    """
    rows = [row for row in range(len(X)) if weights[row] > 0]
    names = {feature: name_levels(X[:, feature]) for feature in categorical}
    held = contents_of_target(y)
    keys = {feature: {name: [0] * 4 for name in of_rows} for feature, of_rows in names.items()}

    def set_part(part, contents, tied):
        """Add the shares of the categories that are told apart by nothing else."""
        own = [row for row in rows if any(names[f][row] in tied[f] for f in categorical)]
        parts = {row: (contents[row] >> 3 | 1) * int(weights[row]) for row in own}
        inverse = pow(sum(parts.values()), -1, PRIME)
        for feature in categorical:
            for name in tied[feature]:
                total = sum(parts[row] for row in own if names[feature][row] == name)
                keys[feature][name][part] = total * inverse % PRIME

    def find_tied():
        tied = {}
        for feature in categorical:
            of_rows = {names[feature][row] for row in rows}
            listed = [tuple(keys[feature][name]) for name in of_rows]
            tied[feature] = {n for n in of_rows if listed.count(tuple(keys[feature][n])) > 1}
        return tied

    set_part(0, held, {feature: {names[feature][row] for row in rows} for feature in categorical})
    for part in (1, 2):
        tied = find_tied()
        if not any(tied.values()):
            break
        contents = list(held)
        for feature, column in enumerate(X.T):
            if feature not in categorical:
                words = [word_of(value) for value in column]
            elif part == 2:
                words = []
                for name in names[feature]:
                    word = 0
                    for one in keys[feature][name]:
                        word = combine(word, one)
                    words.append(word)
            else:
                continue
            contents = [combine(held, word) for held, word in zip(contents, words, strict=True)]
        set_part(part, contents, tied)
    for feature, of_feature in find_tied().items():
        for name in of_feature:
            of_rows = [names[feature][row] for row in rows]
            keys[feature][name][3] = of_rows.index(name)
    found = {}
    for feature in categorical:
        order = sorted({names[feature][row] for row in rows}, key=keys[feature].get)
        found[feature] = {name: place for place, name in enumerate(order)}
    return found
