import * as z from '../schema/zod.ts'

/** An `Attachment`; `checkAttachments` checks the content. */
export const attachmentSchema = z.strictObject({
  name: z.string().min(1).max(255),
  media_type: z.string(),
  data: z.string().describe('The content of the file in Base64.'),
})
