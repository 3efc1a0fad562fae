import type {
  Performer,
  PerformerHost,
  PerformerResult,
  PerformerTurn,
  PerformerUpdate,
  PermissionRequestedCall,
} from '../performers/performer.ts'

/** One action of a scripted performer. */
export type PerformerAction =
  | { do: 'report'; update: PerformerUpdate }
  /** Asks for permission, then reports `allowed` or `denied: REASON` as text. */
  | { do: 'ask'; call: PermissionRequestedCall }
  | { do: 'save'; session: string }
  | { do: 'throw'; message: string }
  /** Does nothing until it is stopped. */
  | { do: 'stall' }
  /** Ends the turn without a result. */
  | { do: 'quit' }
  | { do: 'finish'; result: PerformerResult }

export interface PerformerScript {
  actions: readonly PerformerAction[]
  /** For a turn that resumes the performer's own session. Default: `actions`. */
  resumed?: readonly PerformerAction[]
  parkable?: true
}

/** A performer in this process that carries out a script; `turns` records its calls. */
export function scriptedPerformer(script: PerformerScript): Performer & { readonly turns: PerformerTurn[] } {
  const turns: PerformerTurn[] = []
  return {
    turns,
    ...(script.parkable ? { parkable: true as const } : undefined),
    perform(turn, host) {
      turns.push(turn)
      return performActions(scriptFor(script, turn), turn, host)
    },
  }
}

export function scriptFor(
  { actions, resumed = actions }: PerformerScript,
  turn: PerformerTurn,
): readonly PerformerAction[] {
  return turn.resume === undefined ? actions : resumed
}

async function performActions(
  actions: readonly PerformerAction[],
  { signal }: PerformerTurn,
  host: PerformerHost,
): Promise<PerformerResult> {
  for (const action of actions) {
    signal.throwIfAborted()
    if (action.do === 'report') host.report(action.update)
    else if (action.do === 'save') await host.saveSession(action.session)
    else if (action.do === 'throw') throw new Error(action.message)
    else if (action.do === 'finish') return action.result
    else if (action.do === 'stall') await new Promise((_, reject) => signal.addEventListener('abort', reject))
    else if (action.do === 'ask') {
      const { allow, reason } = await host.requestPermission(action.call)
      host.report({ type: 'text', text: allow ? 'allowed' : `denied: ${reason}` })
    }
  }
  return undefined as never
}
