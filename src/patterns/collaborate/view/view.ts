import type { SessionFacts, SessionLabel } from '../../../views/pattern-view.ts'
import { definePatternView } from '../../../views/pattern-view.ts'
import type { CollaborateEvent } from '../events.ts'
import { agreementPanels } from './agreement-panel.ts'
import { agreementViewFrom } from './agreement-view.ts'
import { collaborationMarks } from './collaboration-marks.ts'
import type { CollaborationViews } from './collaboration-view.ts'
import { collaborationSessionPurpose, formatRecommendation, reduceCollaboration } from './collaboration-view.ts'

/** The view of a collaboration: its specialists while they work, and their agreement at the end. */
export const collaborateView = definePatternView<CollaborationViews, CollaborateEvent>({
  initial: () => ({ byKey: new Map(), specialists: new Map() }),
  reduce(views, event) {
    reduceCollaboration(views, event)
    return views
  },
  session: (views, session) => collaborationSession(views, session),
  timeline: collaborationMarks,
  panels: agreementPanels,
  outputText(output) {
    const agreement = agreementViewFrom(output)
    return agreement ? (agreement.result ?? '') : undefined
  },
  sessionFile: {
    collaboration({ byKey }, input) {
      const { mode, agents = [] } = byKey.get('') ?? { mode: (input as { mode?: string }).mode }
      const [first] = agents
      const coordinator =
        mode === 'hierarchical' && first !== undefined ? { agent_id: first, agent_type: first } : undefined
      return {
        pattern: mode === 'sequential' ? 'pipeline' : 'master_worker',
        ...(coordinator ? { orchestrator: coordinator } : undefined),
      }
    },
    prompt: (input) => (input as { task: string }).task,
  },
})

/** The marks of a collaboration tell what came of a specialist. */
function collaborationSession(views: CollaborationViews, { key }: SessionFacts): SessionLabel | undefined {
  const purpose = collaborationSessionPurpose(views, key)
  const specialist = views.specialists.get(key)
  if (purpose === undefined) return undefined
  const result = specialist ? formatRecommendation(specialist) : ''
  return {
    purpose,
    ...(specialist ? { marked: 'end' as const } : undefined),
    ...(result === '' ? undefined : { result }),
  }
}
