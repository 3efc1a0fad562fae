import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Message } from '../src/kernel/model.ts'
import type { PackageScenario } from './package-scenarios.ts'

/* Long histories around planted facts: an agent reads files, runs commands and talks; other facts of the set stand in between as noise. */

const HISTORY_CHARACTERS = 90_000

export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** What the set is made of besides the facts: files of a repository, and recorded conversations if there are any. */
export interface Filler {
  files: { path: string; text: string }[]
  recorded: Message[]
}

export function readFiller(transcripts: string | undefined): Filler {
  const files = [
    'src/kernel',
    'src/tools/files',
    'src/tools/web',
    'src/models',
    'docs/guide',
    'src/store/sqlite',
  ].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /\.(?:ts|md)$/.test(name) && !name.includes('.test.'))
      .sort()
      .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8').slice(0, 6000) })),
  )
  return { files, recorded: transcripts !== undefined && existsSync(transcripts) ? readTranscripts(transcripts) : [] }
}

/** A history of about 22,000 tokens with the fact of the scenario at a random place. */
export function createHistory(
  target: PackageScenario,
  all: readonly PackageScenario[],
  { filler, seed }: { filler: Filler; seed: number },
): Message[] {
  const random = createRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const ids = { next: 0 }
  const noise = [
    ...all.filter(({ name }) => name !== target.name).map((other) => factMessages(other, ids)),
    ...target.distractors.map((text) => [message(random() < 0.5 ? 'user' : 'assistant', text)]),
  ]
  const groups: Message[][] = [...noise]
  const offset = Math.floor(random() * Math.max(1, filler.recorded.length - 400))
  let size = JSON.stringify(noise).length
  for (let index = 0; size < HISTORY_CHARACTERS; index++) {
    const recorded = filler.recorded[offset + index]
    const file = pick(filler.files)
    const group =
      recorded && index < 400 && random() < 0.6
        ? [recorded]
        : toolMessages('Read', { file_path: file.path }, file.text, ids)
    groups.push(group)
    size += JSON.stringify(group).length
  }
  const shuffled = groups.map((group) => ({ group, order: random() })).sort((a, b) => a.order - b.order)
  const place = Math.floor(shuffled.length * (0.1 + 0.7 * random()))
  const before = shuffled.slice(0, place).map(({ group }) => group)
  const after = shuffled.slice(place).map(({ group }) => group)
  return [message('user', target.task), ...before.flat(), ...factMessages(target, ids), ...after.flat()]
}

function factMessages({ place, fact, origin = '' }: PackageScenario, ids: { next: number }): Message[] {
  switch (place) {
    case 'user':
      return [message('user', fact)]
    case 'agent':
      return [message('assistant', fact)]
    case 'file':
      return toolMessages('Read', { file_path: origin }, fact, ids)
    case 'edit': {
      const side = (mark: string) =>
        fact
          .split('\n')
          .filter((line) => line.startsWith(mark))
          .map((line) => line.slice(2))
          .join('\n')
      return toolMessages('Edit', { file_path: origin, old_string: side('-'), new_string: side('+') }, 'Edited.', ids)
    }
    default:
      return toolMessages('Bash', { command: origin }, fact, ids, place === 'error')
  }
}

function message(role: 'user' | 'assistant', text: string): Message {
  return { role, content: [{ type: 'text', text }] }
}

function toolMessages(name: string, input: unknown, text: string, ids: { next: number }, is_error = false): Message[] {
  const id = `call-${++ids.next}`
  return [
    { role: 'assistant', content: [{ type: 'tool-call', id, name, input }] },
    { role: 'tool', content: [{ type: 'tool-result', id, name, text, is_error }] },
  ]
}

interface TranscriptRecord {
  type?: string
  message?: { content?: string | { type?: string; text?: string; content?: unknown }[] }
}

/** The texts and tool results of recorded coding sessions, in their order. */
function readTranscripts(folder: string): Message[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
  return paths.flatMap((path) =>
    readFileSync(join(folder, path), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .flatMap((line): Message[] => {
        const { type, message: recorded } = JSON.parse(line) as TranscriptRecord
        const parts = recorded?.content ?? []
        const text = typeof parts === 'string' ? parts : parts.map(partText).join('\n')
        return text.trim().length < 20 || (type !== 'user' && type !== 'assistant')
          ? []
          : [message(type, text.slice(0, 6000))]
      }),
  )
}

function partText({ text, content }: { text?: string; content?: unknown }): string {
  if (text !== undefined) return text
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((each) => partText(each as { text?: string })).join('\n') : ''
}
