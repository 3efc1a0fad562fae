/** The pattern that takes a team file, and the field of its input that holds it. */
export const TEAM_PATTERN = 'team'
export const TEAM_FIELD = 'team'
