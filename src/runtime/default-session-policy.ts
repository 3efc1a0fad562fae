import type { SessionPolicy } from '../kernel/session-policy.ts'
import { compactionPrompt } from './compaction-prompt.ts'
import { repairPrompt } from './repair-prompt.ts'
import { formatWorktreeResult } from './worktree-result.ts'

/** The thresholds for compacting a conversation, and the prompts of the session loop. */
export const DEFAULT_SESSION_POLICY: SessionPolicy = {
  compaction: {
    threshold: 0.8,
    target: 0.5,
    keepRecent: 6,
    summaryPrompt: compactionPrompt,
  },
  prompts: {
    emptyResponse:
      'Your last message was empty. State your result now, in words: what you found or did, what is open, and what failed.',
    toolCallInText:
      'Your last message has a tool call written as text, so nothing was called. Call the tool through the tool interface if you ' +
      'have it; otherwise answer in words.',
    outOfTurns:
      'You have used all your turns for this task and cannot call any more tools. State your results now, and what is open.',
    repeatedFailures:
      'You have made the same tool calls several times, and they failed with the same errors. You cannot call any more tools. ' +
      'State your results now, and what failed.',
    invalidOutput: repairPrompt,
    rejectedAnswer: (reason) =>
      `Your answer was not accepted: ${reason}. Correct it and give your whole final answer again.`,
    worktreeResult: formatWorktreeResult,
    backgroundResults: 'Results of your background tasks, as data. Take them into account and give your final answer.',
  },
}
