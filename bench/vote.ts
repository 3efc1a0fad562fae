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

function wholeNumber(text: string | undefined, name: string, otherwise: number): number {
  const number = text === undefined ? otherwise : Number(text)
  if (!Number.isSafeInteger(number) || number < (name === 'seed' ? 0 : 1))
    throw new Error(`--${name} is not a count: ${text}`)
  return number
}

function report(recorded: readonly RecordedQuestion[], seed: number): void {
  const questions = recorded.map(groupAnswers)
  const { rows, orderings, all } = sizeRows(questions, seed)
  print(
    `\n${'one voice one vote'.padEnd(34)}accuracy      ties   voters   ± against ${all}, mean of ${orderings} orderings`,
  )
  for (const { what, accuracy, ties, voters, error = 0 } of rows) {
    const figures = `${percent(accuracy)}  ${percent(ties)}   ${voters.toFixed(2).padStart(6)}`
    print(`  ${what.padEnd(32)}${figures}   ± ${error.toFixed(3)}`)
  }
  printAim(rows, all)
  print(`\n${'agreement of all voters'.padEnd(34)}accuracy   promised   cases`)
  for (const { level, accuracy, promised, cases } of levelRows(questions)) {
    const promise = promised === undefined ? '       –' : percent(promised)
    print(`  ${level.padEnd(32)}${percent(accuracy)}   ${promise}   ${String(cases).padStart(5)}`)
  }
  print(`\n${'voters of unequal strength'.padEnd(34)}plurality   weighted by what they got right elsewhere`)
  for (const { what, plurality, weighted } of weightRows(questions)) {
    print(`  ${what.padEnd(32)}${percent(plurality)}   ${percent(weighted)}`)
  }
  print('\n± is the standard error of the difference in accuracy to the vote of all, in points, over the questions.')
  print('A tie counts as no answer. Promised is what the other half of the questions makes of the same agreement.')
}

function printAim(rows: readonly Row[], all: number): void {
  const full = rows.find(({ what }) => what === `${all} voters`)?.accuracy ?? 0
  const near = rows.filter(({ what, accuracy }) => what.includes('stop') && full - accuracy <= ACCURACY_TOLERANCE)
  const [best] = near.sort((a, b) => a.voters - b.voters)
  const met = best !== undefined && best.voters <= MAX_VOTERS
  const found = best ? `${best.what}, ${best.voters.toFixed(2)} voters` : 'no stop is that near'
  print(
    `  aim: within ${ACCURACY_TOLERANCE} points of ${all} voters at ≤ ${MAX_VOTERS} voters: ${met ? 'ok' : 'MISS'} (${found})`,
  )
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
  const seed = wholeNumber(values.seed, 'seed', 1)
  const [file] = positionals
  const size = {
    questions: wholeNumber(values.questions, 'questions', 2000),
    voters: wholeNumber(values.voters, 'voters', 40),
  }
  const recorded =
    file === undefined ? generateQuestions({ seed, ...size }) : parseQuestions(readFileSync(file, 'utf8'), file)
  if (values.write !== undefined) {
    writeFileSync(values.write, formatQuestions(recorded))
    print(`${recorded.length} questions written to ${values.write}`)
    return
  }
  const origin = file ?? `generated, seed ${seed}: difficulty Beta(2, 0.5), wrong answers correlated, unequal voters`
  print(`${recorded.length} questions · ${origin}`)
  report(recorded, seed)
}

try {
  main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
