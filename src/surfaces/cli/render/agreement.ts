import type { Agreement, Cluster, Spoken } from './agreement-parts.ts'
import { agreementOf } from './agreement-parts.ts'
import { counted } from './amounts.ts'
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
/** Stands for a blank at which no line is broken. */
const TOGETHER = '\u00a0'

type Marks = typeof UNICODE

/** Lines for the output of a collaboration; none for any other. */
export function agreementLines(output: unknown, look: Look): string[] {
  const found = agreementOf(output)
  if (!found) return []
  const marks = look.ascii ? ASCII : UNICODE
  const divided = found.contributions.some(({ subtask }) => subtask !== undefined)
  return [
    ...(divided ? partLines(found, look, marks) : positionLines(found, look, marks)),
    ...othersLines(found, look),
    ...factLines(found, look, { marks, divided }),
  ]
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
      const doubts = wins(cluster, found) ? [] : (concerns.get(cluster.agents[0] ?? '') ?? [])
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

function wins(cluster: Cluster, { consensus, vote }: Agreement): boolean {
  if (!consensus || consensus.tie || vote?.winner === null) return false
  return cluster === consensus.clusters[0]
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
  const won = wins(cluster, found)
  const tied = ties(cluster, found)
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
  const shown = doubts.slice(0, CONCERNS_SHOWN).map((doubt) => `${tied ? marks.dot : 'dissent:'} ${oneLine(doubt)}`)
  return [
    ...first,
    ...below(voices.map(whole).join(', '), look, indent).map((words) => look.paint('dim', words)),
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
function othersLines({ contributions, consensus }: Agreement, look: Look): string[] {
  const placed = new Set(consensus?.clusters.flatMap(({ agents }) => agents))
  const rest = contributions.filter(
    ({ agent, subtask, role }) => !placed.has(agent) && subtask === undefined && role !== 'coordinator',
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

function factLines(found: Agreement, look: Look, { marks, divided }: { marks: Marks; divided: boolean }): string[] {
  const { consensus, best_of, decision, metadata } = found
  const facts: string[] = []
  if (consensus && !divided) facts.push(...agreementFacts(consensus, marks))
  if (best_of) facts.push(scoreWords(best_of))
  if (decision)
    facts.push(`${decision.collaborated ? 'more than one was asked' : 'one was asked'}: ${oneLine(decision.reason)}`)
  if (metadata?.saved) facts.push(savedWords(metadata.saved))
  return [
    ...facts
      .flatMap((fact) => wrap(fact, look.width, 2))
      .map((words) => look.paint('dim', words.replaceAll(TOGETHER, ' '))),
    ...(metadata?.problems ?? []).flatMap((problem) =>
      wrap(`problem: ${oneLine(problem)}`, look.width, 2).map((words) => look.paint('yellow', words)),
    ),
  ]
}

const METHODS: Record<string, string> = {
  text: 'compared as text',
  embeddings: 'compared by meaning',
  model: 'compared by meaning and by a model',
}

function agreementFacts(consensus: NonNullable<Agreement['consensus']>, { dot }: Marks): string[] {
  const { agreement_score, consensus_score, has_consensus, clusters, kappa, method, note, confidence } = consensus
  if (agreement_score === null) return ['agreement unknown: nobody gave a recommendation that can be counted']
  const voices = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const facts = [
    `agreement ${percent(agreement_score)} of ${counted(voices, 'voice')}`,
    has_consensus ? 'consensus' : 'no consensus',
    ...(consensus_score === null ? [] : [`by weight ${percent(consensus_score)}`]),
    ...(kappa === undefined ? [] : [`kappa ${kappa.toFixed(2)}`]),
    METHODS[method] ?? method,
  ]
  return [
    facts.map(whole).join(` ${dot} `),
    ...(confidence
      ? [
          `so much agreement was right in ${percent(confidence.confidence)} of ${counted(confidence.cases, 'earlier case')}`,
        ]
      : []),
    ...(note === undefined ? [] : [oneLine(note)]),
  ]
}

function scoreWords({ agent, reason, scores }: NonNullable<Agreement['best_of']>): string {
  const listed = [...scores].sort((a, b) => b.score - a.score).map((each) => `${each.agent} ${each.score}`)
  return oneLine(`best: ${agent} (of 10: ${listed.join(', ')}): ${reason}`)
}

const WHY: Record<string, string> = {
  cannot_change: 'the outcome could not change any more',
  beta: 'the outcome was likely enough',
  solo: 'one voice was enough',
}

function savedWords(saved: NonNullable<NonNullable<Agreement['metadata']>['saved']>): string {
  const { agents, calls, why, probability } = saved
  const sure = probability === undefined ? '' : ` (${percent(probability)})`
  return `saved ${counted(calls, 'call')}: ${WHY[why] ?? why}${sure}; not asked: ${agents.map(oneLine).join(', ')}`
}

function whole(words: string): string {
  return words.replaceAll(' ', TOGETHER)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
