/** A message with more words is a report, not a failure. */
const MAX_WORDS = 60

/** Rate limits, overload, time-outs and broken connections: they say nothing about the agents, and a retry is right. */
const FAILURE =
  /\b(?:429|50[0234]|52[0-9])\b|\brate[- ]limit(?:ed|s)?\b|\btoo many requests\b|\boverloaded\b|\b(?:temporarily |currently )?unavailable\b|\btimed[- ]?out\b|\btimeout\b|\bgateway\b|\bconnection (?:was )?(?:refused|reset|closed|lost|aborted)\b|\bnetwork (?:error|is down|failure)\b|\b(?:ECONN\w+|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE)\b|\bservice (?:is )?down\b|\bcancell?ed by the user\b/iu
const REPORTS_FAILURE =
  /\b(?:error|fail(?:ed|ure|s)?|unavailable|timed|timeout|overloaded|refused|reset|limit(?:ed)?|cancell?ed|down|E[A-Z_]{4,})\b/iu

/** Whether a message only reports a failure of the outside world. */
export function isOutsideFailure(text: string): boolean {
  const words = text.slice(0, 2000).split(/\s+/, MAX_WORDS + 1)
  return words.length <= MAX_WORDS && FAILURE.test(text) && REPORTS_FAILURE.test(text)
}

/** Work of others that is not finished: whoever asks again polls. */
const WAITING =
  /\b(?:in[_ -]progress|pending|queued|waiting|still (?:running|building|working|waiting)|not (?:yet|ready|finished|complete[d]?|done)|running|building|scheduled|starting)\b/iu

/** Whether a short message only says that work is not finished. */
export function isWaiting(text: string): boolean {
  const words = text.slice(0, 2000).split(/\s+/, MAX_WORDS + 1)
  return words.length <= MAX_WORDS && WAITING.test(text)
}
