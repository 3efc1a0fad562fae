import type { Event, RunResult, RunRow, Troupe } from '../../../index.ts'
import { resultRecord } from '../attend.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { findRun } from '../find.ts'
import { withTroupe } from '../open.ts'
import { agreementLines } from '../render/agreement.ts'
import type { Look } from '../render/line.ts'
import { answerLines, nextSteps } from '../render/result.ts'
import { eventLine, runHeader, usageNotes } from '../render/run.ts'
import { tell } from '../render/story.ts'
import { routeLines } from '../render/team-progress.ts'
import { tree } from '../render/tree.ts'

type ShowOptions = { all?: boolean; events?: boolean }

/** One run as a tree: who did what, for how long, for how much. */
export function show(cli: Cli<ShowOptions>, wanted: string | undefined): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    const events = await troupe.events(row.run_id)
    if (cli.options.events) showEvents(cli, events)
    else if (cli.options.json) printJson(cli, await recordOf(troupe, row, events))
    else await showTree(cli, troupe, row, events)
    return EXIT.done
  })
}

function showEvents(cli: Cli<ShowOptions>, events: readonly Event[]): void {
  const { terminal, options } = cli
  for (const event of events) {
    terminal.print(options.json ? JSON.stringify(event) : eventLine(event, events[0]?.at ?? 0, terminal.out))
  }
}

async function recordOf(troupe: Troupe, row: RunRow, events: readonly Event[]) {
  const story = tell(events)
  const result = await troupe.result(row.run_id)
  const { project, pattern, title, created_at, ended_at } = row
  return {
    ...resultRecord(result),
    project,
    pattern,
    title,
    created_at,
    ended_at,
    input: story.start?.input ?? null,
    limits: story.start?.limits ?? null,
    usage_notes: { estimated_calls: story.estimated, lost: row.usage.lost },
    gates: result.gates,
    ...(story.team.route.length > 0 ? { route: story.team.route } : undefined),
    tree: story.parts,
  }
}

async function showTree(cli: Cli<ShowOptions>, troupe: Troupe, row: RunRow, events: readonly Event[]): Promise<void> {
  const { terminal, options } = cli
  const look = terminal.out
  const now = Date.now()
  const story = tell(events)
  const live = row.status === 'running' && troupe.isUnderWay(row)
  const all = options.all === true
  const result = await troupe.result(row.run_id)
  const lines = [
    ...runHeader(row, live, look),
    '',
    ...tree(story, { look, now, live, all }),
    ...section(agreementLines(result.output, look)),
    ...section(routeLines(story.team.route, look)),
    ...section(usageNotes(story, look)),
    ...section(live ? [] : advice(result, look)),
  ]
  for (const line of lines) terminal.print(line)
}

/** The tree has said what the questions are, and this is `show`. */
function advice(result: RunResult, look: Look): string[] {
  if (result.status === 'waiting') return result.gates.flatMap((gate) => answerLines(gate, look))
  return nextSteps(result, look).filter((text) => !text.startsWith('see what happened'))
}

function section(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...lines]
}
