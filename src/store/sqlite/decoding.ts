import type { BlobTable } from './blobs.ts'
import type { Form } from './form.ts'
import { formOf } from './form.ts'
import type { BlobRef, RepeatRef } from './refs.ts'
import { isRepeat, missing, readRefs } from './refs.ts'
import type { Words } from './words.ts'

/** What a row holds of an event's data. */
export interface DataRecord {
  word: number
  data: string
  refs: string | null
}

/** The run that the event is of. */
interface DataRun {
  id: number
  project: string
}

export interface DecodingSite {
  /** A value of this field is not wanted if it stands in a blob. */
  without: string | undefined
  /** The data of another event of the run. */
  other(run: number, seq: number): string | undefined
}

interface Shaped {
  type: string
  form: Form
}

/** Reads events' data back, exactly as it was given to `encode`. */
export class Decoder {
  readonly #words: Words
  readonly #blobs: BlobTable
  readonly #shaped = new Map<number, Shaped>()

  constructor(words: Words, blobs: BlobTable) {
    this.#words = words
    this.#blobs = blobs
  }

  /** The type and the data of an event. */
  decode(record: DataRecord, run: DataRun, site: DecodingSite): { type: string; data: unknown } {
    if (!record.data.startsWith('['))
      return { type: this.#words.word(record.word), data: this.#whole(record, run, site) }
    const { type, form } = this.#shapedAs(record.word)
    return { type, data: form.fill(this.#values(record, run, { ...site, form })) }
  }

  /** A transaction was undone: the numbers of its words may be given to others. */
  forget(): void {
    this.#shaped.clear()
  }

  #whole({ data, refs }: DataRecord, { project }: DataRun, { without }: DecodingSite): unknown {
    const fields: unknown = JSON.parse(data)
    for (const ref of readRefs(refs)) {
      if (isRepeat(ref) || ref[0] === without) continue
      // Assigning to a field named __proto__ would change the object's nature and lose the value.
      Object.defineProperty(fields, ref[0], {
        value: this.#stored(project, ref),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return fields
  }

  #values(record: DataRecord, run: DataRun, site: DecodingSite & { form: Form }): unknown[] {
    const values = JSON.parse(record.data) as unknown[]
    if (record.refs === null) return values
    const unwanted = site.without === undefined ? -1 : site.form.slotOf(site.without)
    for (const ref of readRefs(record.refs)) {
      if (isRepeat(ref)) values[ref[0]] = this.#repeated(run.id, ref, site)
      else if (ref[0] !== unwanted) values[Number(ref[0])] = this.#stored(run.project, ref)
    }
    return values
  }

  /** What is referred to stands in its event itself, never in a third one. */
  #repeated(run: number, ref: RepeatRef, site: DecodingSite): unknown {
    const data = site.other(run, ref[1])
    return data === undefined ? missing(ref) : (JSON.parse(data) as unknown[])[ref[2]]
  }

  #stored(project: string, ref: BlobRef): unknown {
    const bytes = this.#blobs.load(project, ref[1])
    if (!bytes) return missing(ref)
    try {
      return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
    } catch {
      return missing(ref)
    }
  }

  #shapedAs(word: number): Shaped {
    const known = this.#shaped.get(word)
    if (known) return known
    const text = this.#words.word(word)
    const end = text.indexOf(' ')
    const shaped = { type: text.slice(0, end), form: formOf(text.slice(end + 1)) }
    this.#shaped.set(word, shaped)
    return shaped
  }
}
