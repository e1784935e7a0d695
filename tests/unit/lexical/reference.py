"""BM25 as its formula reads, over texts whose words are their terms."""

import math

LEVELS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def bm25(texts, query, k):
    """Keys and scores, best first; of equal ones that first whose key is less.

    Args:
        texts: Lists of terms by key.
        query: Terms.
        k: How many.
    """
    mean = sum(map(len, texts.values())) / len(texts)
    scores = {}
    for key, terms in texts.items():
        score = 0.0
        for term in query:
            having = sum(term in other for other in texts.values())
            count = max((level for level in LEVELS if level <= terms.count(term)), default=0)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            score += idf * count / (count + 1.2 * (0.25 + 0.75 * len(terms) / mean))
        if any(term in terms for term in query):
            scores[key] = round(score, 9)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
