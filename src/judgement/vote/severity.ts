/** How serious a concern or a disagreement is, the least serious first. */
export const severities = ['minor', 'moderate', 'critical'] as const
export type Severity = (typeof severities)[number]
