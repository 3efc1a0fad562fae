import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ScriptedReplies } from './scripted-team.ts'
import { runScriptedTeam } from './scripted-team.ts'

/* Every team of examples/teams, offline. The routes are what the rules of the files say, worked out by hand. */

const testedExamples = new Set<string>()

function example(name: string, lines: ScriptedReplies) {
  testedExamples.add(`${name}.yaml`)
  return runScriptedTeam(`examples/teams/${name}.yaml`, lines)
}

describe('teams of section 1', () => {
  test('L41 content-team: each hands on when its part is done', async () => {
    const content = await example('content-team', {
      researcher: [{ say: 'Three sources.', holds: ['the findings are gathered'] }],
      writer: [{ say: 'A draft.', holds: ['the draft is written'] }],
      reviewer: [{ say: 'Good.', holds: ['the text is good enough to publish'] }],
      publisher: ['Out.'],
    })
    expect(content.route).toEqual(['researcher', 'writer', 'reviewer', 'publisher'])
    expect(content.handoffs.map(({ by }) => by)).toEqual(['verdict', 'verdict', 'verdict', 'after_work'])
    expect(content.result).toMatchObject({ status: 'waiting', gates: [{ question: 'Out.' }] })
  })

  test('L41 sequential: unconditional handoffs, then the end', async () => {
    const sequential = await example('sequential', {
      ...{ researcher: ['Material.'], writer: ['Text.'], reviewer: ['Corrected.'], publisher: ['Page 1.'] },
    })
    expect(sequential.route).toEqual(['researcher', 'writer', 'reviewer', 'publisher'])
    expect(sequential.output).toMatchObject({ response: 'Page 1.', agent: 'publisher', reason: 'terminated' })
    expect(sequential.output.totals.router_calls).toBe(0)
  })

  test('L41 iterative: back to the writer until the reviewer approves', async () => {
    const iterative = await example('iterative', {
      writer: ['First.', 'Second.'],
      reviewer: [
        { say: 'No.', sets: { approved: false } },
        { say: 'Yes.', sets: { approved: true } },
      ],
      publisher: ['Out.'],
    })
    expect(iterative.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
    expect(iterative.handoffs.slice(0, 4).every(({ by }) => by === 'exact')).toBe(true)
    expect(iterative.output.variables).toEqual({ approved: true })
  })

  test('L41 parallel: three at once, then the writer, who hands on since the research is complete', async () => {
    const parallel = await example('parallel', {
      ...{ researcher_a: ['A.'], researcher_b: ['B.'], researcher_c: ['C.'] },
      writer: [{ say: 'A, B and C.', holds: ['the text covers all three topics'] }],
      reviewer: ['Right.'],
    })
    expect(parallel.route).toEqual(['research', 'writer', 'reviewer'])
    const spoke = parallel.output.history.map(({ agent_name }) => agent_name)
    expect(spoke).toEqual(['user', 'researcher_a', 'researcher_b', 'researcher_c', 'writer', 'reviewer'])
  })

  test('L41 consensus: the experts vote, and one says what was decided', async () => {
    const vote = (recommendation: string, confidence: number) =>
      JSON.stringify({ response: recommendation, recommendation, confidence, concerns: [] })
    const consensus = await example('consensus', {
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
  test('L41 draft-and-review: approval is looked at before a further round', async () => {
    const ready = ['draft is complete', 'ready for review']
    const review = await example('draft-and-review', {
      writer: [
        { say: 'Draft.', holds: ready },
        { say: 'Better.', holds: ready },
      ],
      reviewer: [
        { say: 'More facts.', holds: ['feedback has been provided', 'revisions are needed'] },
        {
          say: 'Fine, with remarks.',
          holds: ['feedback has been provided', 'revisions are needed', 'content is approved for publication'],
        },
      ],
      publisher: ['Out.'],
    })
    expect(review.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
  })

  test('L41 condition-types: sentences, facts and comparisons, alone and joined', async () => {
    const types = await example('condition-types', {
      scout: [{ say: 'Five.', holds: ['research batch complete'], sets: { source_count: 5 } }],
      analyst: [{ say: 'Sure.', holds: ['ready for review'], sets: { confidence_score: 0.9 } }],
      drafter: [
        { say: 'Long.', holds: ['draft complete', 'all sections included'], sets: { word_count: 900 } },
        { say: 'Short.', holds: ['draft is finished'], sets: { word_count: 700 } },
      ],
      critic: [
        { say: 'Again.', holds: ['needs revision', 'review is done'] },
        { say: 'Done.', holds: ['all requirements are satisfied'] },
      ],
      closer: [{ say: 'Signed.', holds: ['no errors found'] }],
    })
    expect(types.route).toEqual(['scout', 'analyst', 'drafter', 'critic', 'drafter', 'critic', 'closer'])
    expect(types.handoffs.at(-1)).toMatchObject({ from: 'closer', to: 'user', by: 'verdict' })
    const few = await example('condition-types', {
      scout: [{ say: 'Four.', holds: ['research batch complete'], sets: { source_count: 4 } }],
    })
    expect([few.route, few.result.status]).toEqual([['scout'], 'waiting'])
  })
})

describe('variables and follow-ups of section 4', () => {
  test('L41 context-variables: too few sources return to the user, and the answer to the researcher', async () => {
    const lines: ScriptedReplies = {
      researcher: [
        { say: 'Four.', holds: ['research complete'], sets: { source_count: 4, confidence: 0.5 } },
        { say: 'Six.', holds: ['research complete'], sets: { source_count: 6, confidence: 0.9 } },
      ],
      writer: ['Written.'],
    }
    const first = await example('context-variables', lines)
    expect(first.route).toEqual(['researcher'])
    expect(first.handoffs).toEqual([{ from: 'researcher', to: 'user', by: 'after_work' }])
    const second = await first.answer('Look further.')
    expect(second.route).toEqual(['researcher', 'researcher', 'writer'])
    expect(second.result.gates[0]?.question).toBe('Written.')
  })
})

describe('courses of section 5', () => {
  test('L41 multi-stage: three phases with one revision', async () => {
    const stages = await example('multi-stage', {
      coordinator: [{ say: 'Research first.', holds: ['research phase needed'] }],
      researcher: [{ say: 'Data.', holds: ['raw data collected', 'needs analysis'] }],
      analyst: [{ say: 'Insights.', holds: ['analysis complete', 'insights ready'] }],
      writer: [
        { say: 'Draft.', holds: ['draft complete'] },
        { say: 'Draft 2.', holds: ['draft complete'] },
      ],
      reviewer: [
        { say: 'Mend it.', holds: ['revisions needed'] },
        { say: 'Good.', holds: ['content approved'] },
      ],
      publisher: ['Out.'],
    })
    const writing = ['writer', 'reviewer', 'writer', 'reviewer']
    expect(stages.route).toEqual(['coordinator', 'researcher', 'analyst', ...writing, 'publisher'])
  })

  test('L41 branching: what the analysis shows decides, and missing data is fetched first', async () => {
    const branching = await example('branching', {
      analyzer: [
        { say: 'Too little.', holds: ['insufficient data for analysis'] },
        { say: 'Hard.', holds: ['analysis shows complex topic requiring expertise'] },
      ],
      researcher: [{ say: 'Data.', holds: ['the missing data is there'] }],
      expert_writer: ['For experts.'],
    })
    expect(branching.route).toEqual(['analyzer', 'researcher', 'analyzer', 'expert_writer'])
  })

  test('L41 quality-gates: numbers are compared in code', async () => {
    const draft = (say: string, word_count: number) => ({ say, holds: ['draft complete'], sets: { word_count } })
    const gates = await example('quality-gates', {
      writer: [draft('One.', 600), draft('Two.', 650)],
      reviewer: [
        { say: 'Weak.', sets: { quality_score: 0.6 } },
        { say: 'Strong.', sets: { quality_score: 0.9 } },
      ],
      publisher: ['Out.'],
    })
    expect(gates.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
    expect(gates.handoffs.map(({ by }) => by)).toEqual(['verdict', 'exact', 'verdict', 'exact', 'after_work'])
  })
})

describe('coordination of section 6', () => {
  test('L41 load-balancing: work goes to whoever has had less', async () => {
    const piece = { say: 'Written.', holds: ['this piece is written', 'others are left'] }
    const more = { say: 'Next piece.', holds: ['writing needed'] }
    const balancing = await example('load-balancing', {
      coordinator: [more, more, more, 'All is written.'],
      writer_a: [piece],
      writer_b: [piece, piece],
    })
    expect(balancing.route).toEqual([
      ...['coordinator', 'writer_b', 'coordinator', 'writer_a', 'coordinator', 'writer_b', 'coordinator'],
    ])
  })

  test('L41 expertise: the topic goes to whoever knows it', async () => {
    const technical = await example('expertise', {
      triager: [{ say: 'Protocols.', holds: ['topic requires technical expertise'] }],
      technical_writer: ['A manual.'],
    })
    expect(technical.route).toEqual(['triager', 'technical_writer'])
    const creative = await example('expertise', {
      triager: [{ say: 'A tale.', holds: ['topic requires creative approach'] }],
      creative_writer: ['Once upon a time.'],
    })
    expect(creative.route).toEqual(['triager', 'creative_writer'])
  })

  test('L41 synchronisation: whoever comes second hands to the synthesizer', async () => {
    const meeting = await example('synchronisation', {
      researcher_a: [{ say: 'A.', holds: ['research_a complete'] }],
      researcher_b: [{ say: 'B.', holds: ['research_b complete', 'research_a complete'] }],
      synthesizer: ['Both.'],
    })
    expect(meeting.route).toEqual(['researcher_a', 'researcher_b', 'synthesizer'])
    expect(meeting.output.response).toBe('Both.')
  })

  test('L41 dependencies: an approved architecture is built only once the requirements are settled', async () => {
    const lines = (requirements_complete: boolean): ScriptedReplies => ({
      requirements_analyst: [{ say: 'Wanted.', holds: ['requirements complete'], sets: { requirements_complete } }],
      architect: [{ say: 'Designed.', holds: ['architecture approved'] }],
      developer: ['Built.'],
    })
    const settled = await example('dependencies', lines(true))
    expect(settled.route).toEqual(['requirements_analyst', 'architect', 'developer'])
    const open = await example('dependencies', lines(false))
    expect(open.route).not.toContain('developer')
  })
})

describe('errors of section 7', () => {
  test('L41 error-recovery: the handler mends it and sends it back to the one that failed', async () => {
    const recovery = await example('error-recovery', {
      importer: [{ say: 'Read.', holds: ['the data is read in'] }],
      transformer: [{ say: '', fails: 'no such column' }, 'In shape.'],
      error_handler: [{ say: 'Column added.', holds: ['error resolved', 'retry possible'] }],
    })
    expect(recovery.route).toEqual(['importer', 'transformer', 'error_handler', 'transformer'])
    expect(recovery.result.gates[0]?.question).toBe('In shape.')
  })

  test('L41 error-recovery: what the handler cannot mend is put to a person', async () => {
    const recovery = await example('error-recovery', {
      importer: [{ say: '', fails: 'no permission' }],
      error_handler: [{ say: 'Somebody has to grant it.', holds: ['error requires human intervention'] }],
    })
    expect(recovery.route).toEqual(['importer', 'error_handler', 'supervisor'])
    expect(recovery.result.gates[0]).toMatchObject({
      question: 'Somebody has to grant it.',
      detail: { kind: 'person', as: 'supervisor' },
    })
  })

  test('L41 quality-checks: a draft passes the checker before the reviewer sees it', async () => {
    const checks = await example('quality-checks', {
      writer: [
        { say: 'Draft.', holds: ['draft complete'] },
        { say: 'Mended.', holds: ['draft complete'] },
      ],
      quality_checker: [
        { say: 'Two dead links.', holds: ['quality issues found'] },
        { say: 'Clean.', holds: ['quality standards met'] },
      ],
      reviewer: ['Readable.'],
    })
    expect(checks.route).toEqual(['writer', 'quality_checker', 'writer', 'quality_checker', 'reviewer'])
  })
})

test('L41 no example was left out', () => {
  expect([...testedExamples].sort()).toEqual(readdirSync('examples/teams').sort())
})
