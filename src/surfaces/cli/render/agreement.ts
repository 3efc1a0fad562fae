import { factLines, percent, TOGETHER, whole } from './agreement-facts.ts'
import type { Agreement, Cluster, Spoken } from './agreement-parts.ts'
import { agreementOf } from './agreement-parts.ts'
import { told } from './error.ts'
import type { Look, Span, Style } from './line.ts'
import { line } from './line.ts'
import { oneLine, wrap } from './width.ts'

/*
 * A collaboration as a picture: who stands where, and how far that is agreement. Parts of one piece of work are not
 * opinions about one question, so divided work is shown by its parts.
 */

const UNICODE = { full: '█', empty: '░', won: '✓', tied: '=', bad: '✗', cut: '◐', dot: '·' }
const ASCII = { full: '#', empty: '.', won: '*', tied: '=', bad: 'x', cut: '~', dot: '-' }
/** From here on, recommendations stand beside their bars and not below. */
const WIDE = 60
const CONCERNS_SHOWN = 2

type Marks = typeof UNICODE

/** Lines for the output of a collaboration; none for any other. */
export function agreementLines(output: unknown, look: Look): string[] {
  const found = agreementOf(output)
  if (!found) return []
  const marks = look.ascii ? ASCII : UNICODE
  const divided = found.contributions.some(({ subtask }) => subtask !== undefined)
  // Parts of one work that were voted on all the same are opinions too.
  const counted = !divided || found.vote !== undefined
  const lines = [
    ...(divided ? partLines(found, look, marks) : []),
    ...(counted ? positionLines(found, look, marks) : []),
    ...othersLines(found, look),
    ...factLines(found, look, { dot: marks.dot, opinions: counted }),
  ]
  return look.ascii ? lines.map((words) => words.replaceAll('…', '~')) : lines
}

function positionLines(found: Agreement, look: Look, marks: Marks): string[] {
  const { consensus, contributions } = found
  if (!consensus || consensus.clusters.length === 0) return []
  const head: Span[] = [['bold', 'who stands where'], ...headMark(found)]
  const concerns = new Map(
    consensus.minority_report.flatMap(({ agents, concerns }) => agents.map((name) => [name, concerns])),
  )
  return [
    line(look, head),
    ...consensus.clusters.flatMap((cluster) => {
      const voices = cluster.agents.map((name) =>
        voiceWords(
          contributions.find(({ agent }) => agent === name),
          name,
        ),
      )
      const doubts = cluster === winnerOf(found) ? [] : (concerns.get(cluster.agents[0] ?? '') ?? [])
      return clusterLines(cluster, { found, look, marks, voices, doubts })
    }),
  ]
}

function headMark({ vote, consensus, ruling }: Agreement): Span[] {
  if (ruling) return ['  ', ['yellow', `decided by a person: ${oneLine(ruling.decision)}`]]
  if (vote?.blocked_by) return ['  ', ['red', `BLOCKED by ${vote.blocked_by.map(oneLine).join(', ')}`]]
  if (vote?.tie ?? consensus?.tie) return ['  ', ['yellow', 'TIE']]
  if (vote && vote.winner === null) return ['  ', ['yellow', `NO DECISION: ${oneLine(vote.reason)}`]]
  return []
}

/** The position that carries the day, if any: what a person decided goes before what was counted. */
function winnerOf({ consensus, vote, ruling, best_of }: Agreement): Cluster | undefined {
  const clusters = consensus?.clusters ?? []
  if (ruling) return clusters.find(({ recommendation }) => recommendation === ruling.decision)
  // What was chosen, and not what most say.
  if (best_of) return clusters.find(({ agents }) => agents.includes(best_of.agent))
  return consensus?.tie || vote?.winner === null ? undefined : clusters[0]
}

function ties(cluster: Cluster, { consensus }: Agreement): boolean {
  const [first] = consensus?.clusters ?? []
  return consensus?.tie === true && first !== undefined && Math.abs(cluster.score - first.score) <= 1e-9 * first.score
}

/** `security-reviewer 95 %`; whoever changed its mind or was not asked anew is marked. */
function voiceWords(spoken: Spoken | undefined, name: string): string {
  const { confidence = null, before, recommendation, cached } = spoken ?? {}
  const sure = confidence === null ? '' : ` ${percent(confidence)}`
  const moved = before && before.recommendation !== recommendation ? ' (moved)' : ''
  return `${oneLine(name)}${sure}${moved}${cached ? ' (known)' : ''}`
}

interface Drawn {
  found: Agreement
  look: Look
  marks: Marks
  voices: string[]
  doubts: string[]
}

function clusterLines(cluster: Cluster, { found, look, marks, voices, doubts }: Drawn): string[] {
  const won = cluster === winnerOf(found)
  const tied = !won && ties(cluster, found)
  const dissents = !won && winnerOf(found) !== undefined
  const size = Math.max(6, Math.min(24, Math.floor(look.width / 4)))
  const style: Style = won ? 'green' : tied ? 'yellow' : 'dim'
  const bar: Span[] = [
    [style, `${won ? marks.won : tied ? marks.tied : ' '} `],
    [style, barOf(cluster.share, size, marks)],
    `  ${percent(cluster.share).padStart(5)}`,
  ]
  const indent = look.width >= WIDE ? size + 11 : 2
  const recommendation: Span = won ? ['bold', oneLine(cluster.recommendation)] : oneLine(cluster.recommendation)
  const first =
    look.width >= WIDE
      ? [line(look, [...bar, '  ', recommendation])]
      : [line(look, bar), line(look, [' '.repeat(indent), recommendation])]
  const shown = doubts.slice(0, CONCERNS_SHOWN).map((doubt) => `${marks.dot} ${oneLine(doubt)}`)
  return [
    ...first,
    ...below(`${dissents ? 'dissent: ' : ''}${voices.map(whole).join(', ')}`, look, indent).map((words) =>
      look.paint('dim', words),
    ),
    ...shown.map((words) => line(look, [' '.repeat(indent), ['dim', words]])),
  ]
}

/** Nothing is drawn as nothing only where it is nothing, and as everything only where it is everything. */
function barOf(share: number, size: number, { full, empty }: Marks): string {
  const exact = Math.round(share * size)
  const filled = share <= 0 ? 0 : share >= 1 ? size : Math.min(size - 1, Math.max(1, exact))
  return full.repeat(filled) + empty.repeat(size - filled)
}

function below(text: string, look: Look, indent: number): string[] {
  const margin = ' '.repeat(indent)
  return wrap(text, look.width - indent).map((words) => margin + words.replaceAll(TOGETHER, ' '))
}

function partLines({ contributions }: Agreement, look: Look, marks: Marks): string[] {
  const parts = contributions.filter(({ subtask }) => subtask !== undefined)
  return [
    line(look, [['bold', 'who did what']]),
    ...parts.flatMap((part) => {
      const [style, mark] = markOf(part, marks)
      const head = line(look, [
        [style, `${mark} `],
        voiceWords(part, part.agent),
        ['dim', `  ${oneLine(part.subtask ?? '')}`],
      ])
      if (part.error) return [head, line(look, ['  ', ['red', told(part.error)]])]
      return part.recommendation === null ? [head] : [head, line(look, [`  ${oneLine(part.recommendation)}`])]
    }),
  ]
}

function markOf({ status, error }: Spoken, marks: Marks): readonly [Style, string] {
  if (status === 'completed') return ['green', marks.won]
  return error ? ['red', marks.bad] : ['yellow', marks.cut]
}

/** Who has no place among the positions: without a recommendation, cut short, or not heard at all. */
function othersLines({ contributions, consensus, metadata }: Agreement, look: Look): string[] {
  const placed = new Set(consensus?.clusters.flatMap(({ agents }) => agents))
  const divided = contributions.some(({ subtask }) => subtask !== undefined)
  // Whoever divided the work has a plan and no opinion; a role of that name says nothing.
  const plan = divided || metadata?.mode === 'hierarchical' ? contributions[0] : undefined
  const rest = contributions.filter(
    (each) => !placed.has(each.agent) && each.subtask === undefined && (each !== plan || each.error),
  )
  const silent = rest.filter(({ error }) => !error).map(({ agent }) => oneLine(agent))
  return [
    ...(silent.length > 0 ? wrap(`no recommendation: ${silent.join(', ')}`, look.width, 2) : []),
    ...rest.flatMap(({ agent, error, response }) => {
      if (!error) return []
      const how = response.trim() === '' ? 'not heard' : 'cut short'
      return wrap(`${how}: ${oneLine(agent)}, ${told(error)}`, look.width, 2).map((words) => look.paint('red', words))
    }),
  ]
}
