import { integer, list, map, structure, text } from './schema.ts';

const queueAttributes = map('Attribute', text());

export const createQueue = {
  input: structure({
    QueueName: text(),
    Attributes: queueAttributes,
    tags: map('Tag', text(), { key: 'Key', value: 'Value' }),
  }),
  output: structure({ QueueUrl: text() }),
};

export const deleteQueue = {
  input: structure({ QueueUrl: text() }),
  output: structure({}),
};

export const getQueueUrl = {
  input: structure({ QueueName: text(), QueueOwnerAWSAccountId: text() }),
  output: structure({ QueueUrl: text() }),
};

export const listQueues = {
  input: structure({ QueueNamePrefix: text(), NextToken: text(), MaxResults: integer() }),
  output: structure({ QueueUrls: list('QueueUrl', text()), NextToken: text() }),
};

export const getQueueAttributes = {
  input: structure({ QueueUrl: text(), AttributeNames: list('AttributeName', text()) }),
  output: structure({ Attributes: queueAttributes }),
};

export const setQueueAttributes = {
  input: structure({ QueueUrl: text(), Attributes: queueAttributes }),
  output: structure({}),
};

export const purgeQueue = {
  input: structure({ QueueUrl: text() }),
  output: structure({}),
};
