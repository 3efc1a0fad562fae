/** The last message of the request that summarizes a conversation; the conversation comes before it. */
export const SUMMARY_PROMPT = [
  '<turn>',
  'You are the summarizer of the team. The conversation above is too long: your summary replaces its older messages for members who',
  'read nothing else of them. Keep:',
  '- the request of the user',
  '- findings, results and agreements, with names, numbers and artifacts',
  '- failed attempts',
  '- open points',
  'Write plain text without an introduction.',
  '</turn>',
].join('\n')
