import type { ErrorRecord } from '../errors.ts'
import type { EventOf, Event as JournalEvent, PatternEventType, RunEnd, SessionEnd } from '../kernel/event.ts'
import type { Message } from '../kernel/model.ts'
import type { PatternPart } from '../kernel/pattern-part.ts'
import type { Panel, PanelBlock, PanelFact } from './panel.ts'
import type { PatternSessionFile } from './session-file/pattern-session-file.ts'
import type { TimelineMark } from './timeline/timeline-mark.ts'

/*
 * The view of a pattern: a reducer over its events, and functions from the reduced state to marks and blocks, which every surface draws in its own
 * way. All of it is pure; a surface folds the journal and removes control characters from the text.
 */

/** The facts that a surface knows about a session. */
export interface SessionFacts {
  key: string
  agent: string
  depth: number
  status: 'running' | SessionEnd['status']
  error: ErrorRecord | null
  calls: number
  tokens: number
  started_at: number
  ended_at: number | null
}

/** The labels that a pattern gives one of its sessions; the instruction and the text are shown otherwise. */
export interface SessionLabel {
  purpose: string
  /** Replaces the text of the session. */
  result?: string
  /** Its start or its completion, which marks tell: a list of what happened does not tell it twice. */
  marked?: 'start' | 'end' | 'both'
  /** Another session took over: only that one is shown. */
  replaced?: true
}

/** The facts about the run that panels are made with. */
export interface PanelScope {
  /** The input of the run, if it is a run of this pattern. */
  input?: unknown
  /** The output of the run, if it is a run of this pattern; `null` while it has none. */
  output: unknown
  /** How the run ended; absent while it goes on. */
  end?: Pick<RunEnd, 'status' | 'error'> | undefined
}

/** Why something happened, for the detail of an event: a handoff, a message, a vote. */
export interface EventExplanation {
  title: string
  facts: readonly PanelFact[]
  blocks: readonly PanelBlock[]
}

export interface PatternView<State = unknown, Event = EventOf<PatternEventType>> extends PatternPart<'view'> {
  initial(): State
  /** Adds one event of the pattern, including those of a nested instance; step keys tell them apart. */
  reduce(state: State, event: Event): State
  /** `undefined` for sessions that are not the pattern's. */
  session?(state: State, session: SessionFacts): SessionLabel | undefined
  /** Additional indentation of sessions below this key. */
  depth?(key: string): number
  /**
   * The marks of this event, after `reduce`: marks on a timeline, and lines of progress on a terminal. Without this function the event's fields are shown.
   * Messages and phases that `sessionFile` gives are marks already; give them here only in other words, which then replace those.
   */
  timeline?(state: State, event: Event): readonly TimelineMark[]
  /** Parts of the page of a run, of which a terminal shows the summary: of a run of this pattern, and of runs in which an agent called it. */
  panels?(state: State, scope: PanelScope): readonly Panel[]
  /** Explains one of its events; without this function its fields are shown. */
  explain?(state: State, event: Event): EventExplanation | undefined
  /**
   * Rebuilds the conversation that sessions of the pattern share (`SessionOpen.thread`) as it was when one of them opened. `events` is the whole journal:
   * some facts are recorded later than they were known.
   */
  sharedMessages?(events: readonly JournalEvent[], open: EventOf<'session:open'>): readonly Message[]
  /** Fields for `show --json`. */
  json?(state: State): Record<string, unknown>
  /** The text of an output that has no `response`. */
  outputText?(output: unknown): string | undefined
  /** The part of session files that only the pattern knows. */
  sessionFile?: PatternSessionFile<State, Event>
}

/** Checks a view against the events of its pattern and erases its types. */
export function definePatternView<State, Event>(view: PatternView<State, Event>): PatternView {
  // It gets its own state and the events of its own pattern only, which no type of a list of views can express.
  return view as unknown as PatternView
}
