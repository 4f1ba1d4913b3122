"""Text: from which part of scikit-learn's documentation is a sentence?

    python examples/text_classification.py [picture.svg]

The texts are docstrings, which come with scikit-learn. TF-IDF makes a sparse matrix of them, and
the forest takes it as it is.
"""

import inspect
import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import sklearn.cluster
import sklearn.linear_model
import sklearn.metrics
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from spinney import RandomForestClassifier

PARTS = {
    "cluster": sklearn.cluster,
    "linear_model": sklearn.linear_model,
    "metrics": sklearn.metrics,
}


def list_sentences(module) -> list[str]:
    texts = {inspect.getdoc(getattr(module, name)) or "" for name in module.__all__}
    sentences = {part.strip() for text in texts for part in re.split(r"\.\s|\n\n", text)}
    return sorted(part for part in sentences if len(part.split()) > 8)


def main(picture: str) -> None:
    sentences = {name: list_sentences(module) for name, module in PARTS.items()}
    texts = [text for part in sentences.values() for text in part]
    y = np.repeat(list(sentences), [len(part) for part in sentences.values()])
    train, test, y_train, y_test = train_test_split(texts, y, random_state=0, stratify=y)
    counts = TfidfVectorizer(stop_words="english")  # "the" and "of" tell little
    model = make_pipeline(counts, RandomForestClassifier(random_state=0))
    model.fit(train, y_train)
    words, forest = model[0].get_feature_names_out(), model[1]
    print(f"{len(train)} sentences, {len(words)} words")
    largest = np.unique(y_test, return_counts=True)[1].max() / len(test)
    print(f"accuracy {model.score(test, y_test):.2f}; the largest class has {largest:.2f}")

    top = np.argsort(forest.feature_importances_)[-12:]
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
    axes.barh(words[top], forest.feature_importances_[top])
    axes.set_title("Words that tell the parts apart")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "text_classification.svg")
