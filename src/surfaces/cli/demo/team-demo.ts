/* A support team that hands a case on: triage, billing, a supervisor, and back. */

export const TEAM_INPUT = {
  message: 'Refund the disputed charge 8812',
  team: {
    name: 'Support',
    agents: [
      { name: 'triage', role: 'Finds out what a case is about' },
      { name: 'billing', role: 'Looks up charges', outputs: { amount: 'number' } },
      { name: 'technical', role: 'Looks up incidents' },
      { name: 'supervisor', role: 'Approves refunds', outputs: { approved: 'boolean' } },
    ],
    handoffs: [
      { from_agent: 'triage', to_agent: 'billing', condition: 'the case is about money' },
      { from_agent: 'triage', to_agent: 'technical', condition: 'the case is about an error' },
      { from_agent: 'billing', to_agent: 'supervisor', condition: 'amount > 100 and not approved', priority: 2 },
      { from_agent: 'supervisor', to_agent: 'billing', condition: 'approved' },
    ],
    context_variables: { amount: 0, approved: false },
    after_work_behavior: 'terminate',
  },
}

interface MemberReply {
  holds?: readonly boolean[]
  sets?: Readonly<Record<string, number | boolean>>
  heard?: string
}

const member = (agent: string, response: string, { holds = [], sets = {}, heard }: MemberReply) => ({
  when: { agent, ...(heard === undefined ? undefined : { heard }) },
  reply: {
    object: {
      response,
      verdicts: holds.map((verdict, index) => ({ condition: index + 1, holds: verdict })),
      variables: Object.entries(sets).map(([name, value]) => ({ name, value })),
      next: null,
    },
    delayMs: 1_700,
  },
  usage: { input: 3_100, output: 210 },
})

export const teamRules = [
  member('triage', 'A customer was charged twice on 3 November: this is about money.', { holds: [true, false] }),
  member('billing', 'Refunded 240.00 USD to the card; the customer has a receipt.', { heard: '"from":"supervisor"' }),
  member('billing', 'Charge 8812 is a duplicate of 8811: 240.00 USD, above my limit.', { sets: { amount: 240 } }),
  member('supervisor', 'The duplicate is plain. Approved.', { sets: { approved: true } }),
]
