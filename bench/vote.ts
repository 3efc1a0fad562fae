import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { formatQuestions, parseQuestions } from './vote-file.ts'
import type { RecordedQuestion } from './vote-generator.ts'
import { generateQuestions } from './vote-generator.ts'
import type { Row } from './vote-report.ts'
import { levelRows, sizeRows, weightRows } from './vote-report.ts'
import { groupAnswers } from './vote-tally.ts'

/* npm run bench:vote [FILE] · npm run bench:vote -- [--seed N] [--questions N] [--voters N] [--write FILE] */

const MAX_VOTERS = 6.5
const ACCURACY_TOLERANCE = 0.05

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function parseCount(text: string | undefined, name: string, fallback: number): number {
  const number = text === undefined ? fallback : Number(text)
  if (!Number.isSafeInteger(number) || number < (name === 'seed' ? 0 : 1))
    throw new Error(`--${name} must be a ${name === 'seed' ? 'non-negative' : 'positive'} integer, not ${text}`)
  return number
}

function report(asked: readonly RecordedQuestion[], { seed, recorded }: { seed: number; recorded: boolean }): void {
  const questions = asked.map(groupAnswers)
  const { rows, orderings, all } = sizeRows(questions, seed)
  print(`\n${'plurality'.padEnd(34)}accuracy      ties   voters   ± to ${all}, mean of ${orderings} orderings`)
  for (const { label, accuracy, ties, voters, error = 0 } of rows) {
    const figures = `${percent(accuracy)}  ${percent(ties)}   ${voters.toFixed(2).padStart(6)}`
    print(`  ${label.padEnd(32)}${figures}   ± ${error.toFixed(3)}`)
  }
  printTarget({ rows, all, recorded })
  print(`\n${'agreement of all voters'.padEnd(34)}accuracy  predicted   cases`)
  for (const { level, accuracy, predicted, cases } of levelRows(questions)) {
    const prediction = predicted === undefined ? '       –' : percent(predicted)
    print(`  ${level.padEnd(32)}${percent(accuracy)}   ${prediction}   ${String(cases).padStart(5)}`)
  }
  print(`\n${'voters of different strength'.padEnd(34)}plurality   weighted by accuracy on other questions`)
  for (const { label, plurality, weighted } of weightRows(questions)) {
    print(`  ${label.padEnd(32)}${percent(plurality)}   ${percent(weighted)}`)
  }
  print(
    '\n± is the standard error of the difference in accuracy to the vote of all, in percentage points, over the questions.',
  )
  print('A tie counts as no answer. Predicted is the confidence calibrated on the other half of the questions.')
}

/** The target comes from recorded answers; how many voters generated ones need depends on how they are generated. */
function printTarget({ rows, all, recorded }: { rows: readonly Row[]; all: number; recorded: boolean }): void {
  const full = rows.find(({ label }) => label === `${all} voters`)?.accuracy ?? 0
  const candidates = rows.filter(
    ({ label, accuracy }) => label.includes('stop') && full - accuracy <= ACCURACY_TOLERANCE,
  )
  const [best] = candidates.sort((a, b) => a.voters - b.voters)
  const found = best ? `${best.label}, ${best.voters.toFixed(2)} voters` : 'no early stop is accurate enough'
  const within = `within ${ACCURACY_TOLERANCE} points of ${all} voters`
  if (!recorded) {
    print(`  ${within}: ${found}; the target applies to recorded answers (FILE)`)
    return
  }
  const met = best !== undefined && best.voters <= MAX_VOTERS
  print(`  target: ${within} at ≤ ${MAX_VOTERS} voters: ${met ? 'ok' : 'MISS'} (${found})`)
}

function percent(value: number): string {
  return `${value.toFixed(2).padStart(6)} %`
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      questions: { type: 'string' },
      voters: { type: 'string' },
      write: { type: 'string' },
    },
  })
  const seed = parseCount(values.seed, 'seed', 1)
  const [file] = positionals
  const size = {
    questions: parseCount(values.questions, 'questions', 2000),
    voters: parseCount(values.voters, 'voters', 40),
  }
  const asked =
    file === undefined ? generateQuestions({ seed, ...size }) : parseQuestions(readFileSync(file, 'utf8'), file)
  if (values.write !== undefined) {
    writeFileSync(values.write, formatQuestions(asked))
    print(`${asked.length} questions written to ${values.write}`)
    return
  }
  const origin =
    file ?? `generated, seed ${seed}: difficulty Beta(2, 0.5), correlated wrong answers, voters of different strength`
  print(`${asked.length} questions · ${origin}`)
  report(asked, { seed, recorded: file !== undefined })
}

try {
  main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
