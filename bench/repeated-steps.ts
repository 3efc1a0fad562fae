import { findRepeatedSteps } from '../src/judgement/loop/repeated-step.ts'
import type { TraceMessage } from '../src/judgement/loop/trace.ts'

/*
 * How well repeated steps of the same speaker are found. Nobody labelled them in the traces, so there are two references: repetitions that
 * are planted among the real messages, and the repetitions that other definitions of "80 % shared words" find.
 */

export interface StepScore {
  name: string
  precision: number
  recall: number
}

export function scoreRepeatedSteps(traces: readonly (readonly TraceMessage[])[]): StepScore[] {
  return [
    plantedScore(traces),
    ...Object.entries(DEFINITIONS).map(([name, isRepetition]) => definitionScore(traces, name, isRepetition)),
  ]
}

type Definition = (words: readonly string[], earlier: readonly string[]) => boolean

const DEFINITIONS: Readonly<Record<string, Definition>> = {
  '80 % of the words of the longer message': (a, b) => shared(a, b) >= 0.8 * Math.max(new Set(a).size, new Set(b).size),
  '80 % of the words of the new message': (a, b) => shared(a, b) >= 0.8 * new Set(a).size,
  '80 % of all words, with repetitions': (a, b) => 2 * sharedOccurrences(a, b) >= 0.8 * (a.length + b.length),
}

function definitionScore(
  traces: readonly (readonly TraceMessage[])[],
  name: string,
  isRepetition: Definition,
): StepScore {
  const count = { hit: 0, found: 0, expected: 0 }
  for (const messages of traces) {
    const found = new Set(findRepeatedSteps(messages).map(({ at }) => at))
    const earlier = new Map<string, string[][]>()
    messages.forEach(({ agent, kind, text }, at) => {
      if (kind === 'person') earlier.clear()
      const words = wordList(text)
      if ((kind !== 'message' && kind !== 'plan') || new Set(words).size < 5) return
      const own = earlier.get(agent) ?? []
      const isExpected = own.some((other) => isRepetition(words, other))
      earlier.set(agent, [...own, words])
      if (isExpected) count.expected++
      if (found.has(at)) count.found++
      if (isExpected && found.has(at)) count.hit++
    })
  }
  return { name, precision: count.hit / count.found, recall: count.hit / count.expected }
}

/**
 * Among the messages of each trace that repeat nothing: every fifth is followed by itself with every tenth word left out and a few words
 * added (a repetition), and by a message made of halves of it and another one (none).
 */
function plantedScore(traces: readonly (readonly TraceMessage[])[]): StepScore {
  const count = { hit: 0, found: 0, planted: 0 }
  for (const messages of traces) {
    const repeated = new Set(findRepeatedSteps(messages).map(({ at }) => at))
    const steps = messages.filter(
      ({ kind, text }, at) => kind === 'message' && !repeated.has(at) && wordList(text).length >= 10,
    )
    const planted = new Set<TraceMessage>()
    const extended = steps.flatMap((step, index) => {
      if (index % 5 !== 4) return [step]
      const other = steps.find((earlier) => earlier.agent === step.agent) ?? step
      const repetition = { ...step, text: `As before: ${dropWords(step.text)} Please go on.` }
      planted.add(repetition)
      return [
        step,
        repetition,
        ...(other === step ? [] : [{ ...step, text: `${half(step.text)} ${half(other.text)}` }]),
      ]
    })
    for (const { at } of findRepeatedSteps(extended)) {
      count.found++
      const message = extended[at]
      if (message && planted.has(message)) count.hit++
    }
    count.planted += planted.size
  }
  return {
    name: `${count.planted} planted repetitions`,
    precision: count.hit / count.found,
    recall: count.hit / count.planted,
  }
}

function dropWords(text: string): string {
  const words = text.split(/\s+/)
  return words.filter((_, index) => index % 10 !== 7).join(' ')
}

function half(text: string): string {
  const words = text.split(/\s+/)
  return words.slice(0, Math.ceil(words.length / 2)).join(' ')
}

function wordList(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function shared(a: readonly string[], b: readonly string[]): number {
  const words = new Set(b)
  return [...new Set(a)].filter((word) => words.has(word)).length
}

function sharedOccurrences(a: readonly string[], b: readonly string[]): number {
  const left = Map.groupBy(b, (word) => word)
  return a.filter((word) => left.get(word)?.pop() !== undefined).length
}
