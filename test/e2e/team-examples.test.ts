import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ScriptedReplies } from './scripted-team.ts'
import { runScriptedTeam } from './scripted-team.ts'

/* Runs every team of examples/teams offline. The expected routes follow from the rules of the files. */

const testedExamples = new Set<string>()

function runExample(name: string, replies: ScriptedReplies) {
  testedExamples.add(`${name}.yaml`)
  return runScriptedTeam(`examples/teams/${name}.yaml`, replies)
}

describe('teams of section 1', () => {
  test('L41 content-team: each agent hands off when its part is done', async () => {
    const content = await runExample('content-team', {
      researcher: [{ text: 'Three sources.', holds: ['the findings are gathered'] }],
      writer: [{ text: 'A draft.', holds: ['the draft is written'] }],
      reviewer: [{ text: 'Good.', holds: ['the text is good enough to publish'] }],
      publisher: ['Out.'],
    })
    expect(content.route).toEqual(['researcher', 'writer', 'reviewer', 'publisher'])
    expect(content.handoffs.map(({ by }) => by)).toEqual(['verdict', 'verdict', 'verdict', 'after_work'])
    expect(content.result).toMatchObject({ status: 'waiting', gates: [{ question: 'Out.' }] })
  })

  test('L41 sequential: unconditional handoffs, then termination', async () => {
    const sequential = await runExample('sequential', {
      ...{ researcher: ['Material.'], writer: ['Text.'], reviewer: ['Corrected.'], publisher: ['Page 1.'] },
    })
    expect(sequential.route).toEqual(['researcher', 'writer', 'reviewer', 'publisher'])
    expect(sequential.output).toMatchObject({ response: 'Page 1.', agent: 'publisher', reason: 'terminated' })
    expect(sequential.output.totals.router_calls).toBe(0)
  })

  test('L41 iterative: the reviewer hands back to the writer until it approves', async () => {
    const iterative = await runExample('iterative', {
      writer: ['First.', 'Second.'],
      reviewer: [
        { text: 'No.', sets: { approved: false } },
        { text: 'Yes.', sets: { approved: true } },
      ],
      publisher: ['Out.'],
    })
    expect(iterative.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
    expect(iterative.handoffs.slice(0, 4).every(({ by }) => by === 'exact')).toBe(true)
    expect(iterative.output.variables).toEqual({ approved: true })
  })

  test('L41 parallel: three agents in parallel, then the writer, then the reviewer', async () => {
    const parallel = await runExample('parallel', {
      ...{ researcher_a: ['A.'], researcher_b: ['B.'], researcher_c: ['C.'] },
      writer: [{ text: 'A, B and C.', holds: ['the text covers all three topics'] }],
      reviewer: ['Right.'],
    })
    expect(parallel.route).toEqual(['research', 'writer', 'reviewer'])
    const speakers = parallel.output.history.map(({ agent_name }) => agent_name)
    expect(speakers).toEqual(['user', 'researcher_a', 'researcher_b', 'researcher_c', 'writer', 'reviewer'])
  })

  test('L41 consensus: the experts vote, and the synthesizer reports the decision', async () => {
    const vote = (recommendation: string, confidence: number) =>
      JSON.stringify({ response: recommendation, recommendation, confidence, concerns: [] })
    const consensus = await runExample('consensus', {
      expert_a: [vote('Ship in May', 0.9)],
      expert_b: [vote('Ship in May', 0.8)],
      expert_c: [vote('Wait for June', 0.6)],
      synthesizer: ['We ship in May; one of us would wait.'],
    })
    expect(consensus.route).toEqual(['experts', 'synthesizer'])
    expect(consensus.output.history[1]).toMatchObject({ agent_name: 'experts', handoff_target: 'synthesizer' })
    expect(consensus.output.history[1]?.parts[0]?.text).toContain('Ship in May')
  })
})

describe('conditions of section 3', () => {
  test('L41 draft-and-review: approval takes priority over another revision', async () => {
    const ready = ['draft is complete', 'ready for review']
    const review = await runExample('draft-and-review', {
      writer: [
        { text: 'Draft.', holds: ready },
        { text: 'Better.', holds: ready },
      ],
      reviewer: [
        { text: 'More facts.', holds: ['feedback has been provided', 'revisions are needed'] },
        {
          text: 'Fine, with remarks.',
          holds: ['feedback has been provided', 'revisions are needed', 'content is approved for publication'],
        },
      ],
      publisher: ['Out.'],
    })
    expect(review.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
  })

  test('L41 condition-types: semantic conditions, variables and comparisons, alone and combined', async () => {
    const types = await runExample('condition-types', {
      scout: [{ text: 'Five.', holds: ['research batch complete'], sets: { source_count: 5 } }],
      analyst: [{ text: 'Sure.', holds: ['ready for review'], sets: { confidence_score: 0.9 } }],
      drafter: [
        { text: 'Long.', holds: ['draft complete', 'all sections included'], sets: { word_count: 900 } },
        { text: 'Short.', holds: ['draft is finished'], sets: { word_count: 700 } },
      ],
      critic: [
        { text: 'Again.', holds: ['needs revision', 'review is done'] },
        { text: 'Done.', holds: ['all requirements are satisfied'] },
      ],
      closer: [{ text: 'Signed.', holds: ['no errors found'] }],
    })
    expect(types.route).toEqual(['scout', 'analyst', 'drafter', 'critic', 'drafter', 'critic', 'closer'])
    expect(types.handoffs.at(-1)).toMatchObject({ from: 'closer', to: 'user', by: 'verdict' })
    const few = await runExample('condition-types', {
      scout: [{ text: 'Four.', holds: ['research batch complete'], sets: { source_count: 4 } }],
    })
    expect([few.route, few.result.status]).toEqual([['scout'], 'waiting'])
  })
})

describe('variables and follow-ups of section 4', () => {
  test('L41 context-variables: too few sources return to the user, whose answer goes to the researcher', async () => {
    const replies: ScriptedReplies = {
      researcher: [
        { text: 'Four.', holds: ['research complete'], sets: { source_count: 4, confidence: 0.5 } },
        { text: 'Six.', holds: ['research complete'], sets: { source_count: 6, confidence: 0.9 } },
      ],
      writer: ['Written.'],
    }
    const first = await runExample('context-variables', replies)
    expect(first.route).toEqual(['researcher'])
    expect(first.handoffs).toEqual([{ from: 'researcher', to: 'user', by: 'after_work' }])
    const second = await first.answer('Look further.')
    expect(second.route).toEqual(['researcher', 'researcher', 'writer'])
    expect(second.result.gates[0]?.question).toBe('Written.')
  })
})

describe('workflows of section 5', () => {
  test('L41 multi-stage: three phases with one revision', async () => {
    const stages = await runExample('multi-stage', {
      coordinator: [{ text: 'Research first.', holds: ['research phase needed'] }],
      researcher: [{ text: 'Data.', holds: ['raw data collected', 'needs analysis'] }],
      analyst: [{ text: 'Insights.', holds: ['analysis complete', 'insights ready'] }],
      writer: [
        { text: 'Draft.', holds: ['draft complete'] },
        { text: 'Draft 2.', holds: ['draft complete'] },
      ],
      reviewer: [
        { text: 'Revise it.', holds: ['revisions needed'] },
        { text: 'Good.', holds: ['content approved'] },
      ],
      publisher: ['Out.'],
    })
    const writing = ['writer', 'reviewer', 'writer', 'reviewer']
    expect(stages.route).toEqual(['coordinator', 'researcher', 'analyst', ...writing, 'publisher'])
  })

  test('L41 branching: the analysis chooses the branch, and missing data is fetched first', async () => {
    const branching = await runExample('branching', {
      analyzer: [
        { text: 'Too little.', holds: ['insufficient data for analysis'] },
        { text: 'Hard.', holds: ['analysis shows complex topic requiring expertise'] },
      ],
      researcher: [{ text: 'Data.', holds: ['the missing data is there'] }],
      expert_writer: ['For experts.'],
    })
    expect(branching.route).toEqual(['analyzer', 'researcher', 'analyzer', 'expert_writer'])
  })

  test('L41 quality-gates: numbers are compared in code', async () => {
    const draft = (text: string, word_count: number) => ({ text, holds: ['draft complete'], sets: { word_count } })
    const gates = await runExample('quality-gates', {
      writer: [draft('One.', 600), draft('Two.', 650)],
      reviewer: [
        { text: 'Weak.', sets: { quality_score: 0.6 } },
        { text: 'Strong.', sets: { quality_score: 0.9 } },
      ],
      publisher: ['Out.'],
    })
    expect(gates.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
    expect(gates.handoffs.map(({ by }) => by)).toEqual(['verdict', 'exact', 'verdict', 'exact', 'after_work'])
  })
})

describe('coordination of section 6', () => {
  test('L41 load-balancing: work goes to the agent with fewer turns', async () => {
    const piece = { text: 'Written.', holds: ['this piece is written', 'others are left'] }
    const more = { text: 'Next piece.', holds: ['writing needed'] }
    const balancing = await runExample('load-balancing', {
      coordinator: [more, more, more, 'All is written.'],
      writer_a: [piece],
      writer_b: [piece, piece],
    })
    expect(balancing.route).toEqual([
      ...['coordinator', 'writer_b', 'coordinator', 'writer_a', 'coordinator', 'writer_b', 'coordinator'],
    ])
  })

  test('L41 expertise: the topic goes to the matching expert', async () => {
    const technical = await runExample('expertise', {
      triager: [{ text: 'Protocols.', holds: ['topic requires technical expertise'] }],
      technical_writer: ['A manual.'],
    })
    expect(technical.route).toEqual(['triager', 'technical_writer'])
    const creative = await runExample('expertise', {
      triager: [{ text: 'A tale.', holds: ['topic requires creative approach'] }],
      creative_writer: ['Once upon a time.'],
    })
    expect(creative.route).toEqual(['triager', 'creative_writer'])
  })

  test('L41 synchronisation: the agent that finishes second hands off to the synthesizer', async () => {
    const synchronisation = await runExample('synchronisation', {
      researcher_a: [{ text: 'A.', holds: ['research_a complete'] }],
      researcher_b: [{ text: 'B.', holds: ['research_b complete', 'research_a complete'] }],
      synthesizer: ['Both.'],
    })
    expect(synchronisation.route).toEqual(['researcher_a', 'researcher_b', 'synthesizer'])
    expect(synchronisation.output.response).toBe('Both.')
  })

  test('L41 dependencies: an approved architecture is built only when the requirements are complete', async () => {
    const replies = (requirements_complete: boolean): ScriptedReplies => ({
      requirements_analyst: [{ text: 'Wanted.', holds: ['requirements complete'], sets: { requirements_complete } }],
      architect: [{ text: 'Designed.', holds: ['architecture approved'] }],
      developer: ['Built.'],
    })
    const complete = await runExample('dependencies', replies(true))
    expect(complete.route).toEqual(['requirements_analyst', 'architect', 'developer'])
    const incomplete = await runExample('dependencies', replies(false))
    expect(incomplete.route).not.toContain('developer')
  })
})

describe('errors of section 7', () => {
  test('L41 error-recovery: the handler resolves the error and hands back to the failed agent', async () => {
    const recovery = await runExample('error-recovery', {
      importer: [{ text: 'Read.', holds: ['the data is read in'] }],
      transformer: [{ text: '', fails: 'no such column' }, 'In shape.'],
      error_handler: [{ text: 'Column added.', holds: ['error resolved', 'retry possible'] }],
    })
    expect(recovery.route).toEqual(['importer', 'transformer', 'error_handler', 'transformer'])
    expect(recovery.result.gates[0]?.question).toBe('In shape.')
  })

  test('L41 error-recovery: an error that needs a person is escalated', async () => {
    const recovery = await runExample('error-recovery', {
      importer: [{ text: '', fails: 'no permission' }],
      error_handler: [{ text: 'Access must be granted.', holds: ['error requires human intervention'] }],
    })
    expect(recovery.route).toEqual(['importer', 'error_handler', 'supervisor'])
    expect(recovery.result.gates[0]).toMatchObject({
      question: 'Access must be granted.',
      detail: { kind: 'person', as: 'supervisor' },
    })
  })

  test('L41 quality-checks: a draft passes the checker before the reviewer', async () => {
    const checks = await runExample('quality-checks', {
      writer: [
        { text: 'Draft.', holds: ['draft complete'] },
        { text: 'Revised.', holds: ['draft complete'] },
      ],
      quality_checker: [
        { text: 'Two dead links.', holds: ['quality issues found'] },
        { text: 'Clean.', holds: ['quality standards met'] },
      ],
      reviewer: ['Readable.'],
    })
    expect(checks.route).toEqual(['writer', 'quality_checker', 'writer', 'quality_checker', 'reviewer'])
  })
})

test('L41 every example is tested', () => {
  expect([...testedExamples].sort()).toEqual(readdirSync('examples/teams').sort())
})
