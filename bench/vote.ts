import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { counted } from './vote-count.ts'
import { parseRecorded, recordedText } from './vote-file.ts'
import type { Recorded } from './vote-generator.ts'
import { generated } from './vote-generator.ts'
import type { Row } from './vote-report.ts'
import { levelRows, sizeRows, weightRows } from './vote-report.ts'

/* npm run bench:vote [FILE] · npm run bench:vote -- [--seed N] [--questions N] [--voters N] [--write FILE] */

const MOST_VOTERS = 6.5
const NEAR_ENOUGH = 0.05

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function wholeNumber(text: string | undefined, name: string, otherwise: number): number {
  const number = text === undefined ? otherwise : Number(text)
  if (!Number.isSafeInteger(number) || number < (name === 'seed' ? 0 : 1))
    throw new Error(`--${name} is not a count: ${text}`)
  return number
}

function report(recorded: readonly Recorded[], seed: number): void {
  const questions = recorded.map(counted)
  const { rows, orderings, all } = sizeRows(questions, seed)
  say(
    `\n${'one voice one vote'.padEnd(34)}accuracy      ties   voters   ± against ${all}, mean of ${orderings} orderings`,
  )
  for (const { what, accuracy, ties, voters, error = 0 } of rows) {
    const figures = `${percent(accuracy)}  ${percent(ties)}   ${voters.toFixed(2).padStart(6)}`
    say(`  ${what.padEnd(32)}${figures}   ± ${error.toFixed(3)}`)
  }
  sayAim(rows, all)
  say(`\n${'agreement of all voters'.padEnd(34)}accuracy   promised   cases`)
  for (const { level, accuracy, promised, cases } of levelRows(questions)) {
    const promise = promised === undefined ? '       –' : percent(promised)
    say(`  ${level.padEnd(32)}${percent(accuracy)}   ${promise}   ${String(cases).padStart(5)}`)
  }
  say(`\n${'voters of unequal strength'.padEnd(34)}plurality   weighted by what they got right elsewhere`)
  for (const { what, plurality, weighted } of weightRows(questions)) {
    say(`  ${what.padEnd(32)}${percent(plurality)}   ${percent(weighted)}`)
  }
  say('\n± is the standard error of the difference in accuracy to the vote of all, in points, over the questions.')
  say('A tie counts as no answer. Promised is what the other half of the questions makes of the same agreement.')
}

function sayAim(rows: readonly Row[], all: number): void {
  const full = rows.find(({ what }) => what === `${all} voters`)?.accuracy ?? 0
  const near = rows.filter(({ what, accuracy }) => what.includes('stop') && full - accuracy <= NEAR_ENOUGH)
  const [best] = near.sort((a, b) => a.voters - b.voters)
  const met = best !== undefined && best.voters <= MOST_VOTERS
  const found = best ? `${best.what}, ${best.voters.toFixed(2)} voters` : 'no stop is that near'
  say(
    `  aim: within ${NEAR_ENOUGH} points of ${all} voters at ≤ ${MOST_VOTERS} voters: ${met ? 'ok' : 'MISS'} (${found})`,
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
  const recorded = file === undefined ? generated({ seed, ...size }) : parseRecorded(readFileSync(file, 'utf8'), file)
  if (values.write !== undefined) {
    writeFileSync(values.write, recordedText(recorded))
    say(`${recorded.length} questions written to ${values.write}`)
    return
  }
  const origin = file ?? `generated, seed ${seed}: difficulty Beta(2, 0.5), wrong answers correlated, unequal voters`
  say(`${recorded.length} questions · ${origin}`)
  report(recorded, seed)
}

try {
  main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
