import type { ErrorRecord } from '../../../errors.ts'
import { errorLines } from '../render/error.ts'
import type { Look, Span } from '../render/line.ts'
import { line } from '../render/line.ts'
import { permissionLines } from '../render/permission-question.ts'
import { ofRun } from '../render/result.ts'
import { actionWords, loopWords, routeLines, whomWords } from '../render/team-progress.ts'
import { briefReason } from '../render/team-told.ts'
import { inputWords } from '../render/tree.ts'
import { harmless, oneLine, widthOf, wrap } from '../render/width.ts'
import type { Happening, OpenQuestion } from './happening.ts'

/*
 * A conversation in lines. Whoever speaks stands at the beginning of a line, all other lines are indented; what is said is
 * never clipped, and all else fits a line.
 */

/** What was said goes to the results, everything around it beside them. */
export interface Said {
  spoken: string[]
  around: string[]
}

/** `look` is the place of the words, `beside` that of all else; in a pipe the words stay as they are. */
export function chatLines(happening: Happening, at: { look: Look; beside: Look; wrapped: boolean }): Said {
  const { look, beside, wrapped } = at
  if (happening.type === 'said') {
    const { agent, text, error, artifacts } = happening
    const spoken = text.trim() === '' ? [] : speech(agent, text, { look, wrapped, style: 'cyan' })
    const wrote = artifacts.length > 0 ? [line(beside, [['dim', `  ${artifacts.join(', ')}`]])] : []
    const failed = error === undefined ? [] : [line(beside, [['red', `  ${oneLine(agent)} failed: ${oneLine(error)}`]])]
    return { spoken, around: [...wrote, ...failed] }
  }
  return { spoken: [], around: aroundLines(happening, beside) }
}

/** A speaker and the words, as many lines as they take. */
export function speech(
  who: string,
  text: string,
  { look, wrapped, style }: { look: Look; wrapped: boolean; style: 'cyan' | 'green' },
): string[] {
  const name = `${oneLine(who)}: `
  const words = `${name}${harmless(text).trim()}`
  const lines = words.split('\n').map((each, index) => (index === 0 || each === '' ? each : `  ${each}`))
  const fitting = wrapped ? lines.flatMap((each) => wrap(each, look.width, 2)) : lines
  return fitting.map((each, index) =>
    index === 0 && each.startsWith(name) ? look.paint(style, name) + each.slice(name.length) : each,
  )
}

function aroundLines(happening: Exclude<Happening, { type: 'said' }>, look: Look): string[] {
  switch (happening.type) {
    case 'run':
      return [line(look, [['dim', `  ${oneLine(happening.team)} · ${happening.run_id}`]])]
    case 'handoff':
      return handoffLines(happening, look)
    case 'turn':
      return [line(look, [['dim', `  ${oneLine(happening.agent)} …`]])]
    case 'group': {
      const { group, members, kind } = happening
      const how = kind === 'parallel' ? 'at once' : 'for one answer'
      return [line(look, [['dim', `  ${oneLine(group)}: ${members.map(oneLine).join(', ')} ${how}`]])]
    }
    case 'loop':
      return yellow(`${loopWords(happening.kind)}: ${happening.message}`, look)
    case 'compress': {
      const { messages, error } = happening
      const words = error === undefined ? `${messages} older messages are summed up` : `no summary: ${oneLine(error)}`
      return [line(look, [['dim', `  ${words}`]])]
    }
    case 'steered': {
      const { action, by, taken, why } = happening
      const words = `${by === 'user' ? '' : `${by}: `}${actionWords(action)}`
      return taken ? [line(look, [['dim', `  taken: ${oneLine(words)}`]])] : yellow(`not taken: ${words}: ${why}`, look)
    }
    case 'tool':
      return toolLines(happening, look)
    case 'artifact':
      return [line(look, [['dim', `  ${oneLine(happening.by)} writes ${oneLine(happening.artifact)}`]])]
    case 'question':
      return questionLines(happening, look)
    case 'trouble':
      return yellow([happening.agent, happening.message].filter((part) => part !== '').join(': '), look)
    case 'end':
      return endLines(happening, look)
    case 'user':
    case 'answered':
      return []
  }
}

function handoffLines(handoff: Extract<Happening, { type: 'handoff' }>, look: Look): string[] {
  const { from, to, by, reason, problems, within } = handoff
  const beside = problems.flatMap((problem) => yellow(problem, look))
  // That the user's own words reach whoever had returned goes without saying, and so does the end of the work.
  if (from === 'user' && by === 'after_work') return beside
  const ends = by === 'after_work' && (to === null || to === 'user')
  const whom = oneLine(whomWords(to, within !== undefined))
  const words = `  → ${whom}${ends ? '' : `  ${oneLine(briefReason(reason))}`}`
  if (widthOf(words) > look.width)
    return [...wrap(words, look.width, 4).map((text) => look.paint('dim', text)), ...beside]
  const spans: Span[] = [
    ['dim', '  → '],
    ['bold', whom],
    ['dim', words.slice(4 + whom.length)],
  ]
  return [line(look, spans), ...beside]
}

function toolLines({ agent, tool, input, error }: Extract<Happening, { type: 'tool' }>, look: Look): string[] {
  if (error !== undefined) return yellow(`${agent}: ${tool} failed: ${error}`, look)
  return [line(look, [['dim', `  ${oneLine(agent)}: ${oneLine(tool)}  ${inputWords(input)}`]])]
}

function questionLines(question: OpenQuestion, look: Look): string[] {
  const { kind, question: text, answers = [], as, call } = question
  if (kind === 'reply') return []
  if (call !== undefined) {
    const [first = '', ...rest] = permissionLines(
      { question: text, detail: { input: question.input, answers } },
      call,
      look,
    )
    return [`${look.paint('yellow', '?')}${first.slice(1)}`, ...rest]
  }
  const head = as === undefined ? '' : `you answer as ${oneLine(as)}: `
  const [first = '', ...rest] = wrap(`  ${head}${harmless(text.slice(0, 4000)).trim()}`, look.width, 2)
  const choice = answers.length > 0 ? wrap(`  ${answers.map(oneLine).join(' · ')}`, look.width, 2) : []
  return [`${look.paint('yellow', '?')}${first.slice(1)}`, ...rest, ...choice.map((words) => look.paint('dim', words))]
}

/** What of it is told where only what matters is: questions, and what went wrong. */
export function isPressing(happening: Happening): boolean {
  if (happening.type === 'said') return happening.error !== undefined
  if (happening.type === 'end') return happening.error !== null
  if (happening.type === 'steered') return !happening.taken
  return happening.type === 'question' || happening.type === 'trouble'
}

function endLines({ run_id, status, route, error }: Extract<Happening, { type: 'end' }>, look: Look): string[] {
  const inner: Look = { width: look.width - 2, paint: look.paint }
  const way = routeLines(route, inner).map((words) => `  ${words}`)
  if (status === 'completed') return way
  const why = error ? errorLines(inChat(error, run_id), look) : [line(look, [['yellow', `  ${status}`]])]
  // With the same limit it would fail again.
  const again = status === 'failed' && error?.code !== 'limit_reached'
  return [...why, ...way, ...(again ? [line(look, [['dim', '  /retry tries again from there']])] : [])]
}

/** Hints are written for commands; who talks wants to go on talking. */
function inChat(error: ErrorRecord, run_id: string): ErrorRecord {
  const { hint, ...rest } = ofRun(error, run_id)
  return { ...rest, hint: hint.replaceAll(`troupe resume ${run_id}`, `troupe chat --resume ${run_id} --retry`) }
}

function yellow(text: string, look: Look): string[] {
  return wrap(`  ${oneLine(text)}`, look.width, 4).map((words) => look.paint('yellow', words))
}
