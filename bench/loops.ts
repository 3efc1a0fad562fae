import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { textFingerprint } from '../src/judgement/loop/handoff-loop.ts'
import type { OrchestratorDecision } from './loop-detectors.ts'
import { findHandoffLoops, findKnownAnswers } from './loop-detectors.ts'
import { readTrace } from './read-trace.ts'

/* npm run bench:loops -- FOLDER, with FOLDER/labels.jsonl and FOLDER/traces: decisions of orchestrators, labelled as loops or not. */

interface Label {
  file: string
  /** Index of the decision in the history. */
  step: number
  is_in_loop: boolean
  instruction: string
}

interface LabelledRun {
  decisions: OrchestratorDecision[]
  labels: boolean[]
  /** Whether agents passed known results back and forth since the decision before. */
  handoffLoops: boolean[]
}

interface Score {
  precision: number
  recall: number
  f1: number
  /** The same with a tolerance of one decision. */
  nearPrecision: number
  nearRecall: number
}

/** Predictions for the decisions of a run. */
type Detector = (run: LabelledRun) => boolean[]

function loadRuns(folder: string): LabelledRun[] {
  const lines = readFileSync(join(folder, 'labels.jsonl'), 'utf8').trim().split('\n')
  const labels = lines.map((line) => JSON.parse(line) as Label)
  return [...Map.groupBy(labels, ({ file }) => file)].map(([file, ofRun]) => {
    const messages = readTrace(join(folder, 'traces', file))
    const looping = new Set(findHandoffLoops(messages))
    const steps = ofRun.map(({ instruction, step }, index) => {
      const previous = ofRun[index - 1]?.step ?? -1
      const between = messages.filter(({ record }) => record > previous && record < step)
      const results = between.filter(({ isPerson, to }) => !isPerson && to === undefined)
      return {
        decision: { instruction: String(instruction ?? ''), results: results.map(({ text }) => text) },
        isHandoffLoop: between.some((message) => looping.has(messages.indexOf(message))),
      }
    })
    return {
      decisions: steps.map(({ decision }) => decision),
      labels: ofRun.map((label) => label.is_in_loop),
      handoffLoops: steps.map(({ isHandoffLoop }) => isHandoffLoop),
    }
  })
}

function score(runs: readonly LabelledRun[], detect: Detector): Score {
  const count = { hit: 0, falseAlarm: 0, miss: 0, nearHit: 0, nearFalse: 0, nearFound: 0, nearMiss: 0 }
  for (const run of runs) {
    const { labels } = run
    const predictions = detect(run)
    labels.forEach((label, index) => {
      const near = (values: readonly boolean[]) => values.slice(Math.max(0, index - 1), index + 2).some(Boolean)
      if (predictions[index]) count[label ? 'hit' : 'falseAlarm']++
      else if (label) count.miss++
      if (predictions[index]) count[near(labels) ? 'nearHit' : 'nearFalse']++
      if (label) count[near(predictions) ? 'nearFound' : 'nearMiss']++
    })
  }
  const precision = ratio(count.hit, count.hit + count.falseAlarm)
  const recall = ratio(count.hit, count.hit + count.miss)
  return {
    ...{ precision, recall, f1: ratio(2 * precision * recall, precision + recall) },
    nearPrecision: ratio(count.nearHit, count.nearHit + count.nearFalse),
    nearRecall: ratio(count.nearFound, count.nearFound + count.nearMiss),
  }
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}

/** The third decision and later with the same key. */
function thirdTime(keyOf: (instruction: string) => string): Detector {
  return ({ decisions }) => {
    const seen = new Map<string, number>()
    return decisions.map(({ instruction }) => {
      const count = (seen.get(keyOf(instruction)) ?? 0) + 1
      seen.set(keyOf(instruction), count)
      return count >= 3
    })
  }
}

const DETECTORS: [string, Detector][] = [
  ['the same instruction three times', thirdTime((instruction) => instruction)],
  ['exact fingerprints three times', thirdTime(textFingerprint)],
  ['fifth decision and later', ({ decisions }) => decisions.map((_, index) => index >= 4)],
  ['handoffs without a new result, as in teams', ({ handoffLoops }) => handoffLoops],
  ['a known answer, as in consultations', ({ decisions }) => findKnownAnswers(decisions)],
]

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

const { positionals } = parseArgs({ allowPositionals: true })
const [folder] = positionals
if (folder === undefined) throw new Error('usage: npm run bench:loops -- FOLDER (with labels.jsonl and traces/)')
const runs = loadRuns(folder)
const labels = runs.flatMap((run) => run.labels)
print(`${runs.length} runs, ${labels.length} decisions, ${labels.filter(Boolean).length} labelled as a loop`)
print(`${''.padEnd(46)}precision  recall     F1   within one decision: precision  recall`)
for (const [name, detector] of DETECTORS) {
  const { precision, recall, f1, nearPrecision, nearRecall } = score(runs, detector)
  const [p, r, f, np, nr] = [precision, recall, f1, nearPrecision, nearRecall].map((value) => value.toFixed(3))
  print(`${name.padEnd(46)}    ${p}   ${r}  ${f}                            ${np}   ${nr}`)
}
