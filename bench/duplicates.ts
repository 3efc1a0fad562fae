/*
 * Measures whether two questions are the same on a file of labelled pairs, such as Quora Question Pairs: `npm run bench:duplicates -- FILE [FILE]`.
 * The threshold is chosen on one half of the pairs and measured on the other. The data is not part of the repository, as its licence does not allow it.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isSameQuestion, LEXICAL_QUESTION_THRESHOLD } from '../src/judgement/similarity/same-question.ts'
import { contentStemSet, cosineSimilarity, diceCoefficient } from '../src/judgement/similarity/similarity.ts'
import { localEmbedder } from '../src/knowledge/local-embedder.ts'

interface LabelledPair {
  a: string
  b: string
  same: boolean
}

interface MeasuredPair extends LabelledPair {
  similarity: number
  words: number
  part: 'training' | 'held-out'
}

/** Wanted on the training part; the labels of such sets are noisy, so that more would be chance. */
const TARGET_PRECISION = 0.9

/** Tab-separated: label, question, question; or with a header that names `is_duplicate` and two columns of questions. */
function readPairs(file: string): LabelledPair[] {
  const lines = readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
  const header = lines[0]?.split('\t') ?? []
  const label = header.findIndex((name) => /^(?:is_duplicate|label|quality)$/i.test(name.trim()))
  const texts = header.flatMap((name, index) =>
    /^(?:question|sentence|text)\s*_?[12ab]$/i.test(name.trim()) ? [index] : [],
  )
  const hasHeader = label >= 0 && texts.length === 2
  const [labelColumn, first, second] = hasHeader ? [label, texts[0] ?? 0, texts[1] ?? 0] : [0, 1, 2]
  return lines.slice(hasHeader ? 1 : 0).flatMap((line) => {
    const cells = line.split('\t')
    const [value, a, b] = [cells[labelColumn], cells[first]?.trim(), cells[second]?.trim()]
    return a && b && /^[01](?:\.0)?$/.test(value?.trim() ?? '') ? [{ a, b, same: Number(value) === 1 }] : []
  })
}

async function measurePairs(pairs: readonly LabelledPair[]): Promise<MeasuredPair[]> {
  const embedder = localEmbedder()
  const measured: MeasuredPair[] = []
  for (const pair of pairs) {
    const [a = [], b = []] = await embedder.embed([pair.a, pair.b])
    const part = Number.parseInt(createHash('sha256').update(pair.a).digest('hex').slice(0, 2), 16) % 2 === 0
    measured.push({
      ...pair,
      similarity: cosineSimilarity(a, b),
      words: diceCoefficient(contentStemSet(pair.a), contentStemSet(pair.b)),
      part: part ? 'training' : 'held-out',
    })
  }
  await embedder.close?.()
  return measured
}

type Decision = (pair: MeasuredPair) => boolean

function score(pairs: readonly MeasuredPair[], decide: Decision) {
  const accepted = pairs.filter(decide)
  const right = accepted.filter(({ same }) => same).length
  const wanted = pairs.filter(({ same }) => same).length
  return {
    accepted: accepted.length,
    right,
    wanted,
    precision: right / Math.max(1, accepted.length),
    recall: right / Math.max(1, wanted),
  }
}

/** The threshold with the highest recall at the wanted precision; the highest precision if none reaches it. */
function chooseThreshold(pairs: readonly MeasuredPair[], decideAt: (threshold: number) => Decision): number {
  const candidates = Array.from({ length: 61 }, (_, step) => 0.4 + step / 100)
  const scored = candidates
    .map((threshold) => ({ threshold, ...score(pairs, decideAt(threshold)) }))
    .filter(({ accepted }) => accepted > 0)
  const good = scored.filter(({ precision }) => precision >= TARGET_PRECISION)
  const best = good[0] ?? scored.sort((x, y) => y.precision - x.precision)[0]
  return Math.round((best?.threshold ?? 1) * 100) / 100
}

function printRow(name: string, threshold: number, pairs: readonly MeasuredPair[], decide: Decision): void {
  const { precision, recall, right, accepted, wanted } = score(pairs, decide)
  const cells = [
    threshold.toFixed(2),
    precision.toFixed(2),
    recall.toFixed(2),
    `${right} of ${accepted} accepted, ${wanted} duplicates`,
  ]
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}

const RULES: readonly { name: string; decideAt: (threshold: number) => Decision }[] = [
  {
    name: 'words alone',
    decideAt:
      (threshold) =>
      ({ words }) =>
        words >= threshold,
  },
  {
    name: 'words and guards',
    decideAt:
      (threshold) =>
      ({ a, b, words }) =>
        isSameQuestion(a, b, { similarity: words, threshold }),
  },
  {
    name: 'embedder alone',
    decideAt:
      (threshold) =>
      ({ similarity }) =>
        similarity >= threshold,
  },
  {
    name: 'embedder and guards',
    decideAt:
      (threshold) =>
      ({ a, b, similarity }) =>
        isSameQuestion(a, b, { similarity, threshold }),
  },
]

const files = process.argv.slice(2).filter((argument) => argument !== '--verbose')
if (files.length === 0 || !files.every(existsSync)) {
  console.error(
    'usage: npm run bench:duplicates -- FILE, with lines of label (0 or 1), question and question, separated by tabs',
  )
  process.exitCode = 1
} else {
  const pairs = await measurePairs(files.flatMap(readPairs))
  const training = pairs.filter(({ part }) => part === 'training')
  const heldOut = pairs.filter(({ part }) => part === 'held-out')
  const embedder = localEmbedder()
  console.log(
    `${pairs.length} pairs, ${training.length} for training, ${heldOut.length} held out; embedder ${embedder.id}\n`,
  )
  console.log('| held-out part | threshold | precision | recall | counts |\n|---|--:|--:|--:|---|')
  for (const { name, decideAt } of RULES) {
    const threshold = chooseThreshold(training, decideAt)
    printRow(name, threshold, heldOut, decideAt(threshold))
  }
  const threshold = embedder.question_threshold ?? embedder.threshold
  const shipped: [name: string, decide: Decision][] = [
    ['embedder alone, same threshold', ({ similarity }) => similarity >= threshold],
    ['as shipped: isSameQuestion', ({ a, b, similarity }) => isSameQuestion(a, b, { similarity, threshold })],
  ]
  for (const [name, decide] of shipped) printRow(name, threshold, heldOut, decide)
  printRow('without an embedder: isSameQuestion', LEXICAL_QUESTION_THRESHOLD, heldOut, ({ a, b }) =>
    isSameQuestion(a, b),
  )
  for (const [name, decide] of shipped) printRow(`${name}, all pairs`, threshold, pairs, decide)
  if (process.argv.includes('--verbose')) {
    const decide = shipped[1]?.[1]
    for (const { a, b, similarity } of pairs.filter((pair) => decide?.(pair) && !pair.same))
      console.log(`wrong: ${similarity.toFixed(2)}  ${a}  |  ${b}`)
  }
  await embedder.close?.()
}
