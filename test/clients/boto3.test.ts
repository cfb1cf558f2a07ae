import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { useServer } from '../support/server.ts';
import { isRunnable, runWithAws } from './programs.ts';

const server = useServer(useDatabase());
const isInstalled = isRunnable('python3', '-c', 'import boto3');
const reason = isInstalled ? '' : ' (skipped: python3 with boto3 is not installed)';

const program = `
import boto3, json
from botocore.exceptions import ClientError

sqs = boto3.client("sqs")
url = sqs.create_queue(QueueName="python", Attributes={"VisibilityTimeout": "60"})["QueueUrl"]
attributes = {
    "text": {"DataType": "String", "StringValue": "Grüße"},
    "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
}
sent = sqs.send_message_batch(QueueUrl=url, Entries=[
    {"Id": "a", "MessageBody": "first", "MessageAttributes": attributes},
    {"Id": "b", "MessageBody": "second"},
    {"Id": "c", "MessageBody": "third", "DelaySeconds": 901},
])
received = sqs.receive_message(
    QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["All"], MessageAttributeNames=["All"])
messages = sorted(received["Messages"], key=lambda message: message["Body"])
first, second = messages
sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
again = sqs.receive_message(QueueUrl=url, AttributeNames=["ApproximateReceiveCount"])["Messages"]
deleted = sqs.delete_message_batch(QueueUrl=url, Entries=[
    {"Id": "again", "ReceiptHandle": again[0]["ReceiptHandle"]},
    {"Id": "second", "ReceiptHandle": second["ReceiptHandle"]},
    {"Id": "wrong", "ReceiptHandle": "garbage"},
])
try:
    sqs.delete_message(QueueUrl=url, ReceiptHandle="garbage")
    error = None
except sqs.exceptions.ReceiptHandleIsInvalid as caught:
    error = caught.response["Error"]["Code"]
pages = sqs.get_paginator("list_queues").paginate(QueueNamePrefix="py", PaginationConfig={"PageSize": 1})
print(json.dumps({
    "successful": [entry["Id"] for entry in sent["Successful"]],
    "failed": [entry["Id"] for entry in sent["Failed"]],
    "bodies": [message["Body"] for message in messages],
    "attributesSurvive": first["MessageAttributes"] == attributes,
    "again": [[message["Body"], message["Attributes"]["ApproximateReceiveCount"]] for message in again],
    "deleted": [entry["Id"] for entry in deleted["Successful"]],
    "notDeleted": [entry["Code"] for entry in deleted["Failed"]],
    "error": error,
    "queues": [url.split("/")[-1] for page in pages for url in page["QueueUrls"]],
    "empty": "Messages" in sqs.receive_message(QueueUrl=url),
}))
`;

it.skipIf(!isInstalled)(`boto3 takes messages through their life${reason}`, async () => {
  const { status, output, errors } = await runWithAws(server.url, 'python3', ['-c', program]);
  expect(errors).toBe('');
  expect(status).toBe(0);
  expect(JSON.parse(output)).toEqual({
    successful: ['a', 'b'],
    failed: ['c'],
    bodies: ['first', 'second'],
    attributesSurvive: true,
    again: [['first', '2']],
    deleted: ['again', 'second'],
    notDeleted: ['ReceiptHandleIsInvalid'],
    error: 'ReceiptHandleIsInvalid',
    queues: ['python'],
    empty: false,
  });
});
