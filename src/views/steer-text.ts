import { describeAttachment } from '../judgement/attachment/attached-file.ts'
import type { SteerAction } from '../kernel/steer-action.ts'

export function formatSteerAction(action: SteerAction): string {
  return action.path === undefined ? formatAction(action) : `${formatAction(action)} in ${action.path}`
}

function formatAction(action: SteerAction): string {
  switch (action.do) {
    case 'override':
      return `next agent ${action.agent}`
    case 'set':
      return `${action.name} = ${JSON.stringify(action.value)}`
    case 'say':
      return [
        'message',
        action.text,
        ...(action.attachments ?? []).map((file) => `+ ${describeAttachment(file)}`),
      ].join(' ')
    default:
      return action.do
  }
}
